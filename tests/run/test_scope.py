"""A decision names what alone it is made of, where a run did not ask every case of both lanes."""

import dataclasses

from harness.gate.qualify import qualify
from harness.gate.qualify_words import decision_words
from harness.run.judged_run import scope_of
from harness.runs.plan import PlannedCell
from harness.wire.records import CaseInfo, CellKey, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind

BOTH, PACKAGE = (Lane.GRAPH, Lane.PACKAGE), (Lane.PACKAGE,)
CASES = (
    CaseInfo("both", "family", "exported", "something", lanes=BOTH),
    CaseInfo("graph", "family", "exported", "something"),
    CaseInfo("full", "family", "exported", "something", lanes=BOTH, full=PACKAGE),
)


def planned(*cells: tuple[str, Lane]) -> list[PlannedCell]:
    keys = (CellKey(case, "nonstrict", "2.14.0", Route.LEGACY, lane) for case, lane in cells)
    return [PlannedCell(key, hypothetical=False, measured_as="") for key in keys]


WHOLE = [(case.name, Lane.GRAPH) for case in CASES] + [("both", Lane.PACKAGE)]


def test_an_ordinary_run_of_both_lanes_has_no_limit_though_a_full_run_asks_more() -> None:
    assert scope_of(planned(*WHOLE), CASES) == ""
    assert scope_of(planned(*WHOLE, ("full", Lane.PACKAGE)), CASES) == ""


def test_one_lane_alone_and_some_of_its_cases_are_named() -> None:
    assert scope_of(planned(*WHOLE[:3]), CASES) == "the graph lane"
    assert scope_of(planned(*WHOLE[:1], WHOLE[3]), CASES) == "1 of 3 cases in the graph lane"


def test_the_first_line_says_it() -> None:
    one, other = (
        SubjectSpec(name, SubjectKind.RELEASE, (Route.LEGACY,)) for name in ("2.13.0", "2.14.0")
    )
    q = dataclasses.replace(qualify([], CASES, one, other), scope="the graph lane")
    assert decision_words(q) == "2.14.0 in place of 2.13.0: open (only: the graph lane)"
