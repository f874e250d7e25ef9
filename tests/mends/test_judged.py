"""What a run of one mend has shown, and what the mend costs, stand beside its defect."""

import dataclasses

import pytest

from harness.base.errors import ExitCode
from harness.cli import mending
from harness.mends.all import MENDS, WRITTEN_FOR
from harness.mends.judged import (
    JUDGED,
    TOGETHER,
    WORK,
    Judged,
    Work,
    mend_costs,
    read_judged,
    read_work,
    rows_text,
)
from harness.toolchain.environment import PROJECT_ROOT
from tests.commands import harness

ROW = Judged(
    "no-inputs", "0a1b", "2.14.0", "run", cells=885, calls=1, splits=0, regressed=0, worse=0, left=0
)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "over 885 cells, 1 user call is right that was not; nothing is worse"),
        (
            {"calls": 2, "splits": 1, "worse": 3, "left": 1},
            "over 885 cells, 2 user calls and 1 split are right that were not; 3 cells are "
            "worse; the defect is left in 1 cell",
        ),
        (
            {"calls": 0},
            "over 885 cells, no call and no split is right that was not; nothing is worse",
        ),
    ],
)
def test_a_row_says_what_is_right_now_and_what_is_worse(changed, words):
    assert dataclasses.replace(ROW, **changed).words == words


def test_what_is_written_down_is_read_back(tmp_path):
    rows = {row.mend: row for row in (ROW, dataclasses.replace(ROW, mend="another", left=2))}
    (tmp_path / "judged.csv").write_text(rows_text(Judged, rows.values()))
    assert read_judged(tmp_path / "judged.csv") == rows
    assert rows_text(Judged, read_judged().values()) == JUDGED.read_text()


def test_each_mend_makes_nothing_worse_by_itself_or_says_which_one_goes_with_it():
    rows, by_name = read_judged(), {mend.name: mend for mend in MENDS}
    assert rows
    assert rows.keys() <= by_name.keys()
    assert all(row.release == WRITTEN_FOR for row in rows.values())
    worse = [row.mend for row in rows.values() if row.worse or row.regressed]
    alone = [name for name in worse if not by_name[name].goes_with]
    assert alone == []


def test_each_mend_was_judged_alone():
    assert {mend.name for mend in MENDS} == read_judged().keys()


def test_a_mend_that_has_changed_since_it_was_judged_is_told_to_have():
    assert ROW.told_of(ROW.digest) == ROW.words
    assert ROW.told_of("another") == f"{ROW.words}; it has changed since"


def test_a_mend_of_another_text_has_another_digest():
    mend = MENDS[0]
    first, *others = mend.patches
    changed = dataclasses.replace(first, added=(*first.added, "def more(): ..."))
    assert dataclasses.replace(mend, idea="another").digest == mend.digest
    assert dataclasses.replace(mend, patches=(changed, *others)).digest != mend.digest


def test_a_run_of_all_mends_is_refused_and_nothing_is_written_down():
    before = JUDGED.read_text()
    done = harness("mend", "--record", "results/published/2026-11-27-mended-2.14.0")
    assert done.returncode == ExitCode.USAGE
    assert "2026-11-27-mended-2.14.0 is no run of one mend over the whole corpus" in done.stderr
    assert JUDGED.read_text() == before


def test_the_cost_of_every_mend_is_written_down_and_none_slows_save_or_load_by_two_per_cent():
    costs = read_work()
    assert costs.keys() == {mend.name for mend in MENDS} | {TOGETHER}
    every = [each for rows in costs.values() for each in rows]
    assert rows_text(Work, every) == WORK.read_text()
    assert {(each.release, each.case) for each in every} == {(WRITTEN_FOR, mending.COUNTED)}
    assert all(len({each.call for each in rows}) == len(rows) == 4 for rows in costs.values())
    slower = [each for each in every if each.call != "compile()" and each.counted.percent > 2]
    assert slower == []


def test_the_documentation_says_what_all_mends_together_cost():
    text = (PROJECT_ROOT / "docs" / "mends.md").read_text()
    assert mend_costs(read_work()[TOGETHER]) in " ".join(text.split())


def test_the_lines_of_a_mend_are_counted_and_written_beside_the_others(tmp_path, monkeypatch):
    (tmp_path / "work.csv").write_text(WORK.read_text())
    monkeypatch.setattr(mending, "WORK", tmp_path / "work.csv")
    monkeypatch.setattr(mending, "COUNTED", "relu_four_steps")
    mending.mend_command(only="no-inputs", count=True)
    before, after = read_work(), read_work(tmp_path / "work.csv")
    assert after.pop("no-inputs") != before.pop("no-inputs")
    assert after == before
