"""Two answers to one program, where the register says that a defect is in both, and one is right.

Such a difference is a fault of this harness, a defect of which the register says too little, or
another defect behind the same signs. It is told to a person, and not judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from harness.register.defects import Defect, Register
from harness.register.facts import UNSUPPORTED, Fact, facts_of, place_of
from harness.register.table import Table
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState

_CALLS: Final = "two calls"
_LANES: Final = "both lanes"

#: The lanes and routes by which a defect shows, by its id.
Ways = Mapping[str, Collection[tuple[str, str]]]


def ways_of(table: Table) -> Ways:
    """By which lanes and routes the cases of a table show each defect."""
    ways: dict[str, set[tuple[str, str]]] = {}
    for entry in table.entries:
        if not entry.removed:
            ways.setdefault(entry.defect, set()).add((entry.place.lane, entry.place.route))
    return ways


def differences(records: Sequence[CellRecord], register: Register, ways: Ways) -> Iterator[str]:
    """What one of two comparable cells fails by, and the other does not, each as a line.

    Two calls, or both lanes, have a defect if some case of the table shows it by the lane and route
    of the other cell, too. A defect that no case shows is taken to be in both.
    """
    right = [each for each in records if each.state is CellState.ENDED and not facts_of(each)]
    for record in records:
        key = record.key
        for fact in facts_of(record):
            named = register.candidates(place_of(key), fact, [key.subject])
            for other in right if fact.oracle != UNSUPPORTED else ():
                question = _question(key, other.key, fact)
                in_both = (
                    defect.id
                    for defect in named
                    if _shown_by(defect, question, other.key, ways)
                    and defect.may_show(other.key.subject)
                    and defect.signed(place_of(other.key), fact)
                )
                shown = next(in_both, "") if question else ""
                if shown:
                    yield f"{question}: {_told(key)} fails as {shown}, {_told(other.key)} is right"


def _shown_by(defect: Defect, question: str, other: CellKey, ways: Ways) -> bool:
    if question not in (_CALLS, _LANES) or defect.id not in ways:
        return True
    return (other.lane, other.route) in ways[defect.id]


def _question(one: CellKey, other: CellKey, fact: Fact) -> str:
    """What two cells of a program have apart, if it is one thing only."""
    same_subject, same_lane = one.subject == other.subject, one.lane == other.lane
    if same_lane and one.route == other.route:
        return "" if same_subject else "two releases"
    if not same_subject:
        return ""
    if not same_lane:
        package, graph = (one, other) if one.lane == Lane.PACKAGE else (other, one)
        return _LANES if Route(package.route).reaches == graph.route else ""
    if one.route.row.in_memory or other.route.row.in_memory:
        asked = fact.oracle in (Oracle.VALUES, Oracle.STATE)  # nothing else is asked in memory
        return "in memory against reloaded" if asked else ""
    same = Route(one.route).reaches.row.inlines == Route(other.route).reaches.row.inlines
    return _CALLS if same else ""


def _told(key: CellKey) -> str:
    return f"{key.subject} by {key.lane}/{key.route}"
