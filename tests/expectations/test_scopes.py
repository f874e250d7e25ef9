"""Scopes: an entry is asked about cases and settings, and says the same as of each cell."""

from __future__ import annotations

import dataclasses
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from harness.expectations.ledger import Entry, Ledger
from harness.expectations.scopes import scopes
from harness.rig.records import CellKey
from harness.rig.vocabulary import Oracle
from tests.record_builders import entry, key, unsupported

ORIGINS = {"a": "exported", "b": "handmade"}
CELLS = [
    CellKey(case, capture, subject, route, lane, builder, environment=environment)
    for case, capture, subject, route, lane, builder, environment in product(
        ("a", "b", "c"), ("nonstrict", "strict"), ("2.12.0", "2.13.0", "torch"),
        ("legacy", "export"), ("graph", "package"), ("segment", "tensorrt-rtx-1.5"),
        ("pinned", "torch-2.8.0"),
    )
]  # fmt: skip
some = st.sampled_from


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    return entry(
        draw(some([Oracle.VALUES, Oracle.WIRING])),
        cases=draw(some([("a",), ("a", "b"), ("*",)])),
        subjects=draw(some([("2.13.0",), (">=2.12",), ("torch",)])),
        routes=draw(some([("export",), ("legacy", "export")])),
        origin=draw(some([None, "exported"])),
        capture=draw(some([None, "strict"])),
        lane=draw(some([None, "package"])),
        builder=draw(some([None, "tensorrt-rtx-*"])),
        environment=draw(some([None, "torch-2.?.*"])),
    )


@given(st.lists(entries(), max_size=5))
def test_a_scope_has_the_entries_that_cover_the_cell_in_the_order_of_the_ledger(
    listed: list[Entry],
) -> None:
    found = scopes(CELLS, Ledger(tuple(listed)), ORIGINS)
    for cell in CELLS:
        covering = [each for each in listed if each.covers(cell, ORIGINS.get(cell.case))]
        assert list(found[cell].entries) == covering
        for oracle in Oracle:
            demanding = [each for each in covering if each.oracle is oracle]
            assert list(found[cell].demanding(oracle)) == demanding


def test_cells_that_the_same_entries_cover_share_one_scope() -> None:
    found = scopes(CELLS, Ledger((entry(),)), ORIGINS)
    assert len({id(scope) for scope in found.values()}) == 2
    assert sum(bool(scope.entries) for scope in found.values()) == 16


def test_a_permission_permits_and_demands_nothing() -> None:
    permission = dataclasses.replace(entry(), symptom="unsupported", stage=None, message="no .*")
    scope = scopes([key()], Ledger((permission,)), {})[key()]
    assert not scope.demanding(permission.oracle)
    assert scope.permitting(unsupported(key(), "no wheel")) == (permission,)
    assert not scope.permitting(unsupported(key(), "a wheel"))
