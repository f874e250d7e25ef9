"""Runs that are held against each other: a leak from one subject into the next is seen."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from corpus.case import Inputs, find_case
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import prepare
from harness.rig.clock import StageClock
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.protocol import Inliner
from harness.run.acceptance import differences, whole_run_differences
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Route

CASE = "relu_four_steps"


class WritesToWhatItWasGiven(BuiltinInliner):
    """As `positional`, and then it writes to the example."""

    def produce(self, split: Any, *args: Any) -> Any:
        program = super().produce(split, *args)
        example = next(each for each in args if isinstance(each, Inputs))
        example.args[0].mul_(2)
        return program


def records_of(inliners: Mapping[str, Inliner], subjects: Sequence[str]) -> dict[str, CellRecord]:
    """As a worker runs a case: prepared once, then one subject after the other."""
    prepared = prepare(find_case(CASE), "nonstrict", 0, StageClock())
    keys = [CellKey(CASE, "nonstrict", subject, Route.EXPORT) for subject in subjects]
    return {
        key.cell_id: run_cell(prepared, inliners[key.subject], key, StageClock()) for key in keys
    }


@pytest.fixture
def three(inliners):
    names = ("2.14.0", "name-matching", "positional")
    return {name: inliners[name] for name in names}


def test_subjects_that_keep_to_their_own_end_alike_in_every_order(three):
    assert not [*whole_run_differences([*three], lambda names: records_of(three, names))]


def test_a_subject_that_writes_to_what_it_was_given_shows_in_those_after_it(three):
    planted = {**three, "name-matching": WritesToWhatItWasGiven("positional")}
    found = [*whole_run_differences([*planted], lambda names: records_of(planted, names))]
    assert {each.run for each in found} == {"in the opposite order", "alone"}
    assert any("positional" in each.cell and "wrong-values" in each.normal for each in found)


def test_times_sizes_and_who_was_measured_make_no_difference(three):
    records = records_of(three, ["2.14.0"])
    later = {
        cell: dataclasses.replace(record, seconds={}, archive_bytes=1, measured_as="another")
        for cell, record in records.items()
    }
    assert not [*differences(records, later, "later")]
    (missing,) = differences(records, {}, "gone")
    assert missing.other == "no record"
