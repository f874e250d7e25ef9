"""`merge` makes a run like any other out of several, judges it anew, and refuses in one message."""

import dataclasses
import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import harness
from harness import cli
from harness.runs.run_folder import RunFolder, RunState
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord, passed
from tests.record_builders import failed, planned, provenance

PUBLISHED = sorted(
    (Path(__file__).parents[2] / "results" / "published").glob("*-all-releases/run.json")
)
CASES = ("relu_once", "two_outputs")


@pytest.fixture
def merge(tmp_path, monkeypatch, capfd):
    """`python -m harness merge` into ``tmp_path``: exit code, and all that was printed."""

    def merge(*arguments: str | Path) -> tuple[int, str]:
        words = ["harness", "merge", *map(str, arguments), "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    return merge


@cache
def published() -> tuple[RunFolder, dict[str, CellRecord]]:
    """The newest published run, read once."""
    folder = RunFolder.open(PUBLISHED[-1].parent)
    return folder, folder.records()


def part(
    out: Path,
    release: str,
    *,
    environment: str = "pinned",
    spoiled: bool = False,
    **fields: object,
) -> Path:
    """A run of two cases by one release, with what the newest published run says of them."""
    source, known = published()
    cells = [
        cell
        for cell in source.plan()
        if cell.key.subject == release and cell.key.case in CASES and cell.key.lane == "graph"
    ]
    records = [known[cell.key.cell_id] for cell in cells]
    moved = [
        dataclasses.replace(
            each, key=_moved(each.key, environment), measured_as=release, hypothetical=False
        )
        for each in records
    ]
    if spoiled:
        moved[0] = _spoiled(moved[0])
    specs = [spec for spec in source.provenance().subjects if spec.subject == release]
    described = {"run_id": f"run-{release}-{environment}", **fields}
    plan = [planned(each.key) for each in moved]
    with RunFolder.create(out, provenance(*specs, **described), plan) as folder:
        folder.append(*moved)
        return folder.path


def _moved(key: CellKey, environment: str) -> CellKey:
    return dataclasses.replace(key, environment=environment)


def _spoiled(record: CellRecord) -> CellRecord:
    good = tuple(
        failed(Oracle.VALUES, "planted") if oracle is Oracle.VALUES else passed(oracle)
        for oracle in Oracle
    )
    return dataclasses.replace(record, verdicts=good)


def test_what_comes_of_it_is_a_run_like_any_other_that_tells_each_environments_torch(
    merge, tmp_path
):
    there = "torch-2.14.0"
    parts = [part(tmp_path, release) for release in ("2.13.0", "2.14.0")]
    parts.append(part(tmp_path, "2.14.0", environment=there, torch_version="2.14.0"))
    code, said = merge(*parts)
    assert (code, "gate: green" in said) == (0, True), said
    own = said.index("2.14.0 with torch 2.14.0: ")
    assert "as in the pinned environment, cell by cell" in said[own:].splitlines()[1]
    assert own < said.index("2.14.0 in place of 2.13.0: nothing forbids it")
    assert "2.13.0 with torch" not in said  # it was asked in the pinned environment alone
    folder = RunFolder.open("latest", tmp_path)
    assert folder.state() is RunState.COMPLETE
    assert not folder.published
    assert {spec.subject for spec in folder.provenance().subjects} == {"2.13.0", "2.14.0"}
    assert len(folder.records()) == sum(len(RunFolder.open(each).records()) for each in parts)
    summary = json.loads((folder.path / "summary.json").read_text())
    assert (summary["gate"], summary["seconds"]["wall"]) == ("green", None)
    ran = {(row["environment"], row["torch"]["running"]) for row in summary["inliners"]}
    assert ran == {("pinned", "2.13.0"), (there, "2.14.0")}
    assert set(harness.open_run(folder.path).summary["subject"]) == {"2.13.0", "2.14.0"}
    page = (folder.path / "report.html").read_text()
    assert f"environment {there}; torch version 2.14.0" in page


def test_unlike_runs_are_refused_or_else_judged_anew_and_told_at_the_top_of_the_report(
    merge, tmp_path
):
    other = part(tmp_path, "2.14.0", corpus_digest="another", spoiled=True)
    parts = part(tmp_path, "2.13.0"), other
    code, said = merge(*parts)
    assert (code, "unlike corpora" in said) == (2, True)
    assert not list(tmp_path.glob("2*"))  # no folder was made
    code, said = merge(*parts, "--allow-mismatch")
    assert code == 1
    assert "gate: red" in said
    assert "planted" in said
    assert "merged all the same: unlike corpora" in said
    folder = RunFolder.open("latest", tmp_path).path
    (stamp,) = json.loads((folder / "run.json").read_text())["mismatches"]
    assert stamp.startswith("unlike corpora: digest in run-2.13.0-pinned, another in run-2.14.0")
    for name in ("report.md", "report.html"):
        above_all_tables = re.split(r"<table|\|---", (folder / name).read_text())[0]
        assert "Merged although unlike:" in above_all_tables
