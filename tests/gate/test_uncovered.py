"""What shows behind a mended error is no breakage if it was known, and does no more harm."""

import dataclasses

import pytest

from harness.gate.findings import CellClass, GateReport
from harness.gate.judge import judge
from harness.gate.uncovered import shown_behind_compile, uncovered_in
from harness.register.defects import Sign
from harness.register.table import Table
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellRecord, Verdict, not_applicable
from harness.wire.vocabulary import Stage, SubjectKind
from tests.record_builders import (
    by_id,
    defect,
    entry,
    failed,
    key,
    planned,
    record,
    register,
    subject,
    table,
    unsupported,
)

FILE, LIKE = "file:1a", "2.13.0"
KNOWN = register(
    defect("first", Sign("completion", "first"), Sign("values", "first")),
    defect(
        "second",
        *(Sign(each, "second") for each in ("completion", "values", "metadata")),
        Sign("signature", "of two"),
    ),
    defect("fixed", Sign("completion", "fixed"), fixed_in="2.12.0"),
    defect("one", Sign("completion", "either")),
    defect("other", Sign("completion", "either"), Sign("signature", "of two")),
)


def error(message: str, stage: Stage = Stage.EXPORT) -> Verdict:
    return dataclasses.replace(failed(Oracle.COMPLETION, message, stage), harm=Harm.ERROR)


def wrong(message: str) -> Verdict:
    return dataclasses.replace(failed(Oracle.VALUES, message), harm=Harm.SILENT)


def not_reached(oracle: Oracle) -> Verdict:
    return not_applicable(oracle, "not reached")


def judged(
    *pairs: tuple[list[Verdict], list[Verdict]], expected: Table | None = None
) -> GateReport:
    """Cells of a release, each with what the candidate makes of it."""
    records: list[CellRecord] = []
    for number, (before, after) in enumerate(pairs):
        records.append(record(key(f"case{number}", LIKE), *before))
        records.append(record(key(f"case{number}", FILE), *after))
    plan = [planned(each.key) for each in records]
    file = subject(FILE, kind=SubjectKind.FILE, release=LIKE)
    ours = [cell for cell in plan if cell.key.subject == FILE]
    report = judge(plan, by_id(*records), expected or Table(), [file], {FILE: LIKE}, register=KNOWN)
    of_file = tuple(each for each in report.findings if each.subject == FILE)
    classes = {cell.key.cell_id: report.classes[cell.key.cell_id] for cell in ours}
    return dataclasses.replace(report, findings=of_file, classes=classes)


MENDED_ELSEWHERE = ([error("first")], [])
UNCOVERED = ([error("first")], [error("second")])


def test_a_known_error_behind_a_mended_one_is_told_as_seen_first_now_and_is_not_red():
    report = judged(MENDED_ELSEWHERE, UNCOVERED)
    assert report.findings == ()
    assert [*report.classes.values()] == [CellClass.OK, CellClass.EXPECTED_FAILURE]
    (note,) = [note for note in report.notes if note.subject == FILE]
    assert note.reason.startswith(
        'seen first now: "It is first" mended, and behind it shows "It is second", '
        f"which {LIKE} has too: "
    )


def test_a_known_error_in_the_place_of_silently_wrong_numbers_is_told_as_such_and_is_not_red():
    silent = ([wrong("first")], [])
    report = judged(silent, ([wrong("first")], [error("second", Stage.SPLIT)]))
    assert [*report.classes.values()] == [CellClass.OK, CellClass.EXPECTED_FAILURE]
    (note,) = [note for note in report.notes if note.subject == FILE]
    assert note.reason.startswith(
        'seen first now: "It is first" was silent, and in its place "It is second" raises, '
        f"as in {LIKE}: "
    )


def test_what_may_be_either_of_two_is_the_one_that_the_release_shows_in_the_same_cell():
    second, either = failed(Oracle.METADATA, "second"), failed(Oracle.SIGNATURE, "of two")
    ended = [error("first"), not_reached(Oracle.SIGNATURE)]
    shown = judged(MENDED_ELSEWHERE, ([*ended, second], [second, either]))
    assert shown.findings == ()
    unsure = judged(MENDED_ELSEWHERE, (ended, [either]))
    assert [finding.oracle for finding in unsure.findings] == [Oracle.SIGNATURE]


def lost(oracle: Oracle) -> tuple[list[Verdict], list[Verdict]]:
    return [error("first")], [error("second"), not_reached(oracle)]


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([UNCOVERED], id="nothing is mended anywhere"),
        pytest.param([MENDED_ELSEWHERE, ([error("first")], [wrong("second")])], id="silent now"),
        pytest.param([MENDED_ELSEWHERE, ([error("first")], [error("unheard of")])], id="unknown"),
        pytest.param([MENDED_ELSEWHERE, ([error("first")], [error("fixed")])], id="fixed before"),
        pytest.param([MENDED_ELSEWHERE, ([error("first")], [error("either")])], id="either of two"),
        pytest.param(
            [MENDED_ELSEWHERE, ([error("first")], [error("second", Stage.SPLIT)])], id="earlier"
        ),
        pytest.param([MENDED_ELSEWHERE, lost(Oracle.WIRING)], id="a question is lost"),
        pytest.param(
            [MENDED_ELSEWHERE, ([error("first")], [error("second"), failed(Oracle.WIRING)])],
            id="another oracle fails, too",
        ),
        pytest.param([MENDED_ELSEWHERE, ([], [error("second")])], id="it was right"),
        pytest.param(
            [MENDED_ELSEWHERE, ([error("one")], [error("second")])], id="another was mended"
        ),
    ],
)
def test_a_breakage_beside_a_fix_stays_red(cells):
    report = judged(*cells)
    assert CellClass.UNEXPECTED_FAILURE in report.classes.values()


def test_wrong_numbers_behind_wrong_numbers_are_red_where_the_cell_was_not_known_to_have_them():
    report = judged(([wrong("first")], []), ([wrong("first")], [wrong("second")]))
    assert [*report.classes.values()] == [CellClass.OK, CellClass.UNEXPECTED_FAILURE]


def test_wrong_numbers_behind_an_error_are_red_though_another_release_has_them_there():
    known = table(
        entry(says="second", case="case1", defect="second", subjects=("2.10.0",), harm="silent")
    )
    for harm, cell_class in (
        (Harm.SILENT, CellClass.UNEXPECTED_FAILURE),
        (Harm.ERROR, CellClass.EXPECTED_FAILURE),
    ):
        behind = dataclasses.replace(wrong("second"), harm=harm)
        before = [error("first"), not_reached(Oracle.VALUES)]
        report = judged(MENDED_ELSEWHERE, (before, [behind]), expected=known)
        assert report.classes[key("case1", FILE).cell_id] is cell_class


RAISES_NOW = ([wrong("first")], [error("second"), not_reached(Oracle.VALUES)])
RIGHT_ELSEWHERE = ([wrong("first")], [])


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([RAISES_NOW], id="nothing is mended anywhere"),
        pytest.param(
            [RIGHT_ELSEWHERE, ([wrong("first")], [error("fixed"), not_reached(Oracle.VALUES)])],
            id="fixed before",
        ),
        pytest.param(
            [RIGHT_ELSEWHERE, ([wrong("first")], [error("new"), not_reached(Oracle.VALUES)])],
            id="unknown",
        ),
        pytest.param(
            [RIGHT_ELSEWHERE, (RAISES_NOW[0], [*RAISES_NOW[1], failed(Oracle.METADATA, "second")])],
            id="what had passed fails",
        ),
        pytest.param([RIGHT_ELSEWHERE, ([], RAISES_NOW[1])], id="it was right"),
        pytest.param(
            [
                RIGHT_ELSEWHERE,
                ([dataclasses.replace(wrong("first"), harm=Harm.INTERFACE)], RAISES_NOW[1]),
            ],
            id="it was not silent",
        ),
    ],
)
def test_an_error_that_takes_the_place_of_an_answer_stays_red_unless_the_answer_was_wrong(cells):
    report = judged(*cells)
    assert CellClass.UNEXPECTED_FAILURE in report.classes.values()


def test_both_defects_are_named_by_cell():
    records = [
        record(key("a", LIKE), error("first")), record(key("a", FILE)),
        record(key("b", LIKE), error("first")), record(key("b", FILE), error("second")),
    ]  # fmt: skip
    told = uncovered_in(FILE, LIKE, records, Table(), KNOWN, {FILE: LIKE})
    assert {place.case: text for place, text in told.items()} == {
        "b": f'"It is first" mended, and behind it shows "It is second", which {LIKE} has too'
    }


@pytest.mark.parametrize(
    ("after", "red"),
    [
        ([error("second")], False),
        ([error("unheard of")], True),
        ([error("fixed")], True),
        ([wrong("second")], True),
        ([error("second"), failed(Oracle.SIGNATURE, "of two")], False),
        ([error("unheard of"), failed(Oracle.SIGNATURE, "of two")], True),
        ([error("second"), failed(Oracle.SIGNATURE, "of nobody")], True),
    ],
    ids=["known", "unknown", "fixed-before", "silent", "one-of-two", "neither", "beside-it"],
)
def test_a_known_error_of_a_save_is_not_red_where_the_release_cannot_compile_the_model(after, red):
    resting = unsupported(key("a", LIKE), "compile: ends in IndexError: 1")
    saved = record(key("a", FILE), *after)
    records = [resting, saved]
    shown = shown_behind_compile(FILE, LIKE, records, Table(), KNOWN, {FILE: LIKE})
    assert [*shown.values()] == (
        [] if red else [f'{LIKE} cannot compile it right, and now "It is second" shows']
    )
    lost = dataclasses.replace(resting, reason="no wheel")
    assert not shown_behind_compile(FILE, LIKE, [lost, saved], Table(), KNOWN, {FILE: LIKE})
