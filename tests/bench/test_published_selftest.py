"""What `docs/bench.md` says of the selftest is what the published campaigns said."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench.selftest_run import SelftestFolder
from harness.bench.selftest_table import lines, result_of
from harness.toolchain.environment import PROJECT_ROOT
from tests.marked_block import block

FOLDERS = [
    path.parent
    for path in sorted((PROJECT_ROOT / "results" / "published").glob("*/*/selftest.json"))
]
SHOWN = ("| rule |", "| this harness |", "| pooled", "| bare", "| pyperf", "- smallest detectable")


def told(folder: Path) -> str:
    return (folder / "selftest.md").read_text(encoding="utf-8").strip()


def test_there_are_campaigns_beside_a_busy_core_and_on_an_idle_machine() -> None:
    assert {folder.name for folder in FOLDERS} == {"beside-a-busy-core", "idle"}


def test_the_readme_holds_the_published_tables() -> None:
    shown = block((PROJECT_ROOT / "docs/bench.md").read_text(encoding="utf-8"), "selftest")
    for folder in FOLDERS:
        for line in told(folder).splitlines():
            assert not line.startswith(SHOWN) or line in shown, (folder.name, line)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_table_is_what_its_raw_samples_say(folder: Path) -> None:
    campaigns = SelftestFolder(folder).campaigns()
    assert told(folder) == "\n".join(lines(campaigns, result_of(campaigns))).strip()
