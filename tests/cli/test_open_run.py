"""`harness.open_run`, as `docs/reports.md` shows it."""

import json
import re
from pathlib import Path

import pytest

import harness
from harness.base.errors import UsageError
from harness.report.write import write_report
from harness.runs.plan import PlannedCell
from harness.runs.run_folder import RunFolder
from tests.commands import python
from tests.record_builders import provenance
from tests.report.conftest import full_run

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = [path.parent for path in (ROOT / "results/published").glob("*-all-*/summary.json")]


@pytest.fixture
def results(tmp_path):
    """`results/` with one run in it, and no report yet."""
    plan = [PlannedCell(key, False, key.subject) for key in full_run().plan]
    with RunFolder.create(tmp_path / "results", provenance(*full_run().subjects), plan):
        return tmp_path / "results"


def test_the_notebook_of_the_documentation_prints_what_it_shows(results):
    write_report(results / "latest", full_run().model())
    page = (ROOT / "docs/reports.md").read_text()
    section = page[page.index("## In a notebook") :]
    code, shown = re.findall(r"```(?:python)?\n(.*?)```", section, re.DOTALL)[:2]
    done = python("-c", code, cwd=results.parent, PYTHONPATH=str(ROOT))
    printed = done.stdout.splitlines()
    assert printed[0].split() == shown.splitlines()[0].split()
    rows = [line.split()[:2] for line in printed[1:]]
    assert rows == [
        ["2.10.0", "legacy"], ["2.13.0", "legacy"], ["2.13.0", "export"],
        ["2.14.0", "legacy"], ["2.14.0", "export"],
    ][-4:]  # fmt: skip


def test_a_run_whose_report_was_never_written_is_told_what_writes_it(results):
    with pytest.raises(UsageError, match=r"`python -m harness report .*` writes it"):
        harness.open_run(results / "latest")


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no run"):
        harness.open_run(tmp_path / "absent")


@pytest.mark.parametrize("place", PUBLISHED, ids=lambda place: place.name)
def test_a_published_run_opens_as_it_lies(place):
    cells = harness.open_run(place).cells
    counted = json.loads((place / "summary.json").read_text())["cells"]
    assert len(cells) == counted["planned"]
    assert (cells["standing"] == "unsupported").sum() == counted["unsupported"]
    assert not cells["family"].isna().any()
