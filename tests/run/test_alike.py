"""A candidate's cell with a program that was judged already takes the verdicts on it."""

from __future__ import annotations

import dataclasses

import pytest

from harness.base.errors import SurroundingsError
from harness.run.alike import Alike
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from tests.record_builders import failed, key, planned, record

MINE, BASE = key("a", "file:1"), key("a", "2.14.0")


def alike(base: CellRecord | None, *, in_full: bool = False, measured_as: str = "") -> Alike:
    cells = [planned(MINE), planned(BASE)]
    if measured_as:
        cells[1] = dataclasses.replace(cells[1], measured_as=measured_as)
    known = {} if base is None else {base.key: base}
    return Alike(
        {"file:1": "2.14.0"},
        {cell.key.cell_id: cell for cell in cells},
        known.get,
        {MINE.cell_id} if in_full else (),
        "20261123T000000Z-aaaaaa",
    )


def same() -> CellRecord:
    """What a worker says of a cell whose program is a known one."""
    return dataclasses.replace(record(MINE, seconds={"export": 1.0}), verdicts=(), program="p")


def test_a_cell_takes_the_verdicts_on_its_program_and_says_whose_they_are():
    base = record(BASE, failed(Oracle.VALUES), program="p", kept_from="run", archive_bytes=7)
    held = alike(base)
    assert held.program(MINE) == "p"
    made = held.completed(same())
    assert held.all_completed() == [made]
    assert made == dataclasses.replace(
        base, key=MINE, measured_as="2.14.0", seconds={"export": 1.0}, kept_from=""
    )


def test_a_base_that_was_measured_as_another_is_known_by_that_one():
    other = record(key("a", "2.13.0"), program="p")
    assert alike(other, measured_as="2.13.0").program(MINE) == "p"


@pytest.mark.parametrize(
    "base",
    [
        None,
        record(BASE),
        record(BASE, failed(Oracle.DETERMINISM), program="p"),
    ],
    ids=["unknown", "no program", "does not repeat itself"],
)
def test_a_cell_is_judged_if_nothing_is_known_of_what_it_is_held_against(base):
    assert alike(base).program(MINE) == ""


def test_a_cell_that_was_kept_and_is_asked_again_is_judged_in_full():
    assert alike(record(BASE, program="p"), in_full=True).program(MINE) == ""


def test_some_cells_are_judged_all_the_same():
    cases = [f"case{number}" for number in range(400)]
    cells = {cell.cell_id: planned(cell) for case in cases for cell in
             (key(case, "file:1"), key(case, "2.14.0"))}  # fmt: skip
    held = Alike({"file:1": "2.14.0"}, cells, lambda cell: record(cell, program="p"), (), "run")
    judged = [case for case in cases if not held.program(key(case, "file:1"))]
    assert 5 < len(judged) < 50


def test_equal_programs_that_are_judged_otherwise_end_the_run():
    held = alike(record(BASE, program="p"))
    assert not held.completed(record(MINE, failed(Oracle.VALUES), program="p"))
    with pytest.raises(SurroundingsError, match=r"1 verdict on equal programs.*values"):
        held.all_completed()


def test_an_inliner_that_does_not_repeat_itself_makes_no_program_untrue():
    held = alike(record(BASE, program="p"))
    assert not held.completed(record(MINE, failed(Oracle.DETERMINISM), program="p"))
    assert held.all_completed() == []
