"""What a page quotes of a published file is what stands in the file."""

import pytest

from harness.toolchain.environment import PROJECT_ROOT as ROOT
from tests.marked_block import block

PUBLISHED = ROOT / "results" / "published"


@pytest.mark.parametrize(
    ("page", "name", "file"),
    [
        ("standing.md", "standing", "2026-11-25-all-releases/standing.md"),
        ("speed.md", "own-speed", "2026-11-27-own-speed/own-speed.md"),
    ],
)
def test_a_block_of_a_page_is_the_published_file(page, name, file):
    quoted = block((ROOT / "docs" / page).read_text(), name)
    assert quoted.strip() == (PUBLISHED / file).read_text().strip()
