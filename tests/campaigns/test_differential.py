"""Of two answers to one program, what the register and its table do not explain is told."""

from harness.campaigns.differential import differences, ways_of
from harness.register.defects import read_register
from harness.register.expected import read_expectations
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Outcome, Stage

WAYS = ways_of(read_expectations().table)


def record(route: Route, *verdicts: Verdict, subject: str = "2.13.0") -> CellRecord:
    key = CellKey("drawn", "nonstrict", subject, route, lane=Lane.GRAPH)
    return CellRecord(key=key, state=CellState.ENDED, verdicts=verdicts, measured_as=subject)


#: Shown by `legacy` and `legacy-no-inputs`, and never by `export`, in which torch exports anew.
LISTED = Verdict(
    Oracle.METADATA,
    Outcome.FAILED,
    symptom=Symptom.WRONG_METADATA,
    stage=Stage.EXPORT,
    message="element of an engine: a list for a tensor",
)


def told(*records: CellRecord) -> list[str]:
    return list(differences(records, read_register(), WAYS))


def test_a_defect_that_one_of_two_ways_shows_and_the_other_can_show_is_told():
    (line,) = told(record(Route.LEGACY, LISTED), record(Route.LEGACY_NO_INPUTS))
    assert line.startswith("two calls: 2.13.0 by graph/legacy fails as one-output-list, ")


def test_a_way_by_which_no_case_shows_the_defect_is_no_difference():
    assert told(record(Route.LEGACY, LISTED), record(Route.EXPORT)) == []


def test_two_releases_that_both_have_the_defect_are_told_apart():
    (line,) = told(record(Route.LEGACY, LISTED), record(Route.LEGACY, subject="2.12.0"))
    assert line.endswith("2.12.0 by graph/legacy is right")


def test_answers_that_fail_alike_are_no_difference():
    assert told(record(Route.LEGACY, LISTED), record(Route.LEGACY_NO_INPUTS, LISTED)) == []
