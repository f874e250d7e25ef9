"""How a case is captured changes no verdict: strict and non-strict capture say the same.

The whole corpus is held to that by `python -m harness run --capture strict`: no row of the table
names a capture mode. Here are the cases in which the two captures differ most.
"""

from functools import cache

import pytest

from corpus.case import find_case
from harness.register.table_files import read_table
from harness.rig.capture.capture import capture
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import PreparedCase, prepare
from harness.rig.cell.sharing import Shared
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner
from harness.wire.records import CellKey, Verdict
from harness.wire.routes import Route
from tests.chosen import quick_first

NAMES = [
    "resnet_batch_norm",  # strict capture drops the counter of its batch norms
    "gru_linear_dynamic",  # wrong numbers, without a complaint, up to 2.13.0
    "names_that_collide_without_dots",
    "one_linear_in_two_fallbacks",
    "keywords_in_another_order",
    "two_mutated_buffers",
    "cond_in_fallback",
]
DEFAULT = {"resnet_batch_norm", "two_mutated_buffers", "cond_in_fallback"}
CELLS = [
    *((release, "legacy") for release in ("2.10.0", "2.13.0", "2.14.0")),
    *((release, "export") for release in ("2.13.0", "2.14.0")),
    ("torch", "direct"),
]


@cache
def prepared_in(mode: str, name: str) -> PreparedCase:
    case = prepare(find_case(name), mode, 0, StageClock())
    case.shared = Shared()
    return case


def verdicts(inliner: Inliner, mode: str, name: str, route: str) -> tuple[Verdict, ...]:
    """What the oracles say, without the evidence, which names nodes."""
    key = CellKey(name, mode, inliner.name, Route(route))
    record = run_cell(prepared_in(mode, name), inliner, key, StageClock())
    return tuple(
        Verdict(each.oracle, each.outcome, each.symptom, each.stage, each.message)
        for each in record.verdicts
    )


@pytest.mark.parametrize("name", quick_first(NAMES, DEFAULT))
def test_both_captures_give_the_same_verdicts(inliners, name):
    for subject, route in CELLS:
        inliner = inliners[subject]
        strict, nonstrict = (
            verdicts(inliner, mode, name, route) for mode in ("strict", "nonstrict")
        )
        assert strict == nonstrict, f"{subject} {route}"


def test_the_captures_that_are_compared_are_not_one_and_the_same():
    strict, nonstrict = (
        capture(find_case("resnet_batch_norm"), mode) for mode in ("strict", "nonstrict")
    )
    counters = "num_batches_tracked"
    held = [
        {name.rsplit(".", 1)[-1] for name, _ in captured.fresh_module().named_buffers()}
        for captured in (strict, nonstrict)
    ]
    assert [counters in names for names in held] == [False, True]


def test_no_row_names_the_strict_capture():
    assert not [row for row in read_table().entries if row.place.capture == "strict"]
