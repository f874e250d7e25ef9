"""`history` reads a run and says, with its exit code, whether upstream's fixes show as expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import history
from harness.expectations.history_file import HISTORY_FILE, read_history
from harness.releases import load_catalogue
from harness.rig.records import CellKey, CellRecord
from harness.rig.vocabulary import Oracle, Outcome
from harness.store import RunFolder
from tests.record_builders import failed, key, planned, provenance, record

CATALOGUE = load_catalogue()
FIXES = read_history(CATALOGUE.versions, HISTORY_FILE)
VISIBLE = [fix for fix in FIXES if not fix.not_visible]


def as_upstream_says() -> dict[CellKey, CellRecord]:
    """A run in which every release fails before each fix, and passes from it on."""
    wrong: dict[CellKey, set[Oracle]] = {}
    for fix in VISIBLE:
        assert fix.oracle is not None
        for number, release in enumerate(CATALOGUE):
            for case in fix.cases:
                for route in set(fix.routes) & set(release.reachable):
                    said = wrong.setdefault(key(case, release.version, route), set())
                    if number < CATALOGUE.versions.index(fix.first_good):
                        said.add(fix.oracle)
    return {cell: record(cell, *map(failed, sorted(said))) for cell, said in wrong.items()}


def run_of(out: Path, records: Iterable[CellRecord]) -> Path:
    every = tuple(records)
    with RunFolder.create(out, provenance(), tuple(planned(each.key) for each in every)) as folder:
        for each in every:
            folder.append(each)
        return folder.path


Ask = Callable[[Iterable[CellRecord]], tuple[int, list[str]]]


@pytest.fixture
def ask(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Ask:
    """The command on a run of these records: its exit code and what it printed."""

    def ask(records: Iterable[CellRecord]) -> tuple[int, list[str]]:
        code = history.history_command(str(run_of(tmp_path, records)))
        return code, capfd.readouterr().out.splitlines()

    return ask


def test_all_as_expected_is_exit_code_0_and_a_line_for_each_fix(ask: Ask) -> None:
    code, lines = ask(as_upstream_says().values())
    assert code == 0
    hidden = [fix for fix in FIXES if fix.not_visible]
    assert len(lines) == len(FIXES) + len(hidden) + 1
    for fix in hidden:
        assert f"{fix.id}: not visible here: {fix.not_visible}" in lines
    assert lines[0].startswith(
        "#2970 keyword-inputs, first good 2.5.0: as expected: fails in 2.3.0"
    )
    assert lines[-1].startswith(f"{len(VISIBLE)} of {len(VISIBLE)} fixes as expected")


def test_a_release_that_passes_too_early_is_exit_code_1_and_is_named(ask: Ask) -> None:
    records = as_upstream_says()
    early = key("two_outputs", "2.10.0", "legacy")
    assert records[early].verdict(Oracle.COMPLETION).outcome is Outcome.FAILED
    code, lines = ask((records | {early: record(early)}).values())
    assert code == 1
    assert any("several-fallback-outputs" in line and "NOT as expected" in line for line in lines)
    sentence = "two_outputs [2.10.0 legacy]: completion ok, but it should fail"
    assert f"several-fallback-outputs: {sentence}" in lines


def test_a_release_that_was_not_run_is_exit_code_3(ask: Ask) -> None:
    code, lines = ask(each for each in as_upstream_says().values() if each.key.subject != "2.14.0")
    assert code == 3
    assert any("not asked in 2.14.0" in line for line in lines)


def test_json_is_one_object_a_fix(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = run_of(tmp_path, as_upstream_says().values())
    assert history.history_command(str(path), as_json=True) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [each["id"] for each in found] == [fix.id for fix in FIXES]
    assert found[0]["fails"] == ["2.3.0", "2.4.0"]
    assert {each["as_expected"] for each in found} == {True, None}


def test_a_terminal_gets_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(force_terminal=True, width=250, record=True, highlight=False)
    monkeypatch.setattr(history, "out", terminal)
    assert history.history_command(str(run_of(tmp_path, as_upstream_says().values()))) == 0
    text = terminal.export_text()
    assert "fails in" in text.splitlines()[0]
    assert "2.3.0 to 2.13.0" in text
    assert "not visible here" in text
