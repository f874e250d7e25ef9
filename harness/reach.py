"""Reach: who makes the split of a cell. Of a cell of a whole package, the product."""

from __future__ import annotations

from collections.abc import Iterable

from harness.rig.records import CaseInfo, CellKey
from harness.rig.vocabulary import Lane, Reach
from harness.verdict import ReachOf


def reach_by_origin(cases: Iterable[CaseInfo]) -> ReachOf:
    """The reach of a cell, as far as the origin of its case tells it."""
    origins = {case.name: Reach(case.origin) for case in cases}

    def reach_of(key: CellKey) -> Reach:
        return origins[key.case] if key.lane == Lane.GRAPH else Reach.PRODUCT

    return reach_of
