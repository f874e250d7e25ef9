"""Ship or do not ship: the rule, with faults planted on either side."""

from __future__ import annotations

import dataclasses

from harness.qualify import Decision, Harm, Qualification, harm_of, qualify
from harness.report.qualify_page import (
    qualification_html,
    qualification_markdown,
    verdict_of,
)
from harness.rig.records import CaseInfo, CellRecord, Oracle, Verdict
from tests.record_builders import case, failed, key, record, subject, unsupported

OLD, NEW = subject("2.13.0", "legacy"), subject("2.14.0", "legacy")
CASES: list[CaseInfo] = [case("plain"), case("other"), case("by-hand", origin="handmade")]
WRONG = failed(Oracle.VALUES)
ERROR = failed(Oracle.COMPLETION)
LESSER = failed(Oracle.METADATA)


def cell(name: str, who: str, *verdicts: Verdict) -> CellRecord:
    return record(key(name, who, "legacy"), *verdicts)


def held(*records: CellRecord) -> Qualification:
    return qualify(records, CASES, OLD, NEW)


def sound(*but: str) -> list[CellRecord]:
    """Both subjects right in every case but those named."""
    return [
        cell(info.name, who)
        for info in CASES
        if info.name not in but
        for who in ("2.13.0", "2.14.0")
    ]


def test_harms_are_told_apart() -> None:
    assert harm_of(cell("plain", "2.14.0")) is Harm.NONE
    assert harm_of(cell("plain", "2.14.0", LESSER)) is Harm.LESSER
    assert harm_of(cell("plain", "2.14.0", WRONG, LESSER)) is Harm.SILENT
    assert harm_of(cell("plain", "2.14.0", ERROR, WRONG)) is Harm.ERROR


def test_what_is_equal_may_ship() -> None:
    q = held(*sound())
    assert q.decision is Decision.SHIP
    assert q.changes == ()
    assert verdict_of(q).words == "Ship 2.14.0 in the place of 2.13.0"


def test_what_was_wrong_and_is_right_may_ship_and_is_told() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0", WRONG), cell("plain", "2.14.0"))
    assert q.decision is Decision.SHIP
    assert [change.key.case for change in q.better] == ["plain"]


def test_a_new_silent_harm_forbids_to_ship() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG))
    assert q.decision is Decision.DO_NOT_SHIP
    assert [change.key.case for change in q.stoppers] == ["plain"]


def test_an_error_that_became_silent_forbids_to_ship() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0", ERROR), cell("plain", "2.14.0", WRONG))
    assert q.decision is Decision.DO_NOT_SHIP


def test_a_new_error_forbids_to_ship() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0", LESSER), cell("plain", "2.14.0", ERROR))
    assert q.decision is Decision.DO_NOT_SHIP


def test_a_handmade_split_is_told_and_does_not_forbid() -> None:
    q = held(*sound("by-hand"), cell("by-hand", "2.13.0"), cell("by-hand", "2.14.0", WRONG))
    assert q.decision is Decision.SHIP
    assert [change.key.case for change in q.warnings] == ["by-hand"]
    assert "1 handmade cells are newly worse" in verdict_of(q).why


def test_a_new_lesser_harm_is_told_and_does_not_forbid() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", LESSER))
    assert q.decision is Decision.SHIP
    assert len(q.lesser) == 1


def test_what_could_not_be_asked_leaves_the_question_open() -> None:
    unasked = unsupported(key("plain", "2.14.0", "legacy"), "no compiler")
    q = held(*sound("plain"), cell("plain", "2.13.0"), unasked)
    assert q.decision is Decision.OPEN
    assert q.not_asked == (("2.14.0, graph lane: no compiler", 1),)


def test_a_stopper_stops_whatever_else_is_open() -> None:
    unasked = unsupported(key("other", "2.14.0", "legacy"), "no compiler")
    wrong = [cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG)]
    assert held(*wrong, cell("other", "2.13.0"), unasked).decision is Decision.DO_NOT_SHIP


def test_nothing_compared_is_no_leave_to_ship() -> None:
    assert held().decision is Decision.OPEN


def test_hypothetical_cells_say_nothing() -> None:
    wrong = dataclasses.replace(cell("plain", "2.14.0", WRONG), hypothetical=True)
    assert held(*sound("plain"), cell("plain", "2.13.0"), wrong).decision is Decision.SHIP


def test_both_directions_are_told_as_they_are() -> None:
    records = [*sound("plain"), cell("plain", "2.13.0", WRONG), cell("plain", "2.14.0")]
    assert qualify(records, CASES, OLD, NEW).decision is Decision.SHIP
    assert qualify(records, CASES, NEW, OLD).decision is Decision.DO_NOT_SHIP


def test_the_page_names_the_case_and_the_command_that_shows_it() -> None:
    q = held(*sound("plain"), cell("plain", "2.13.0"), cell("plain", "2.14.0", WRONG))
    command = "python -m harness explain plain --subject 2.14.0 --route legacy"
    for form in (qualification_markdown, qualification_html):
        text = form(q, {"torch_version": "2.13.0"})
        assert "Do not ship 2.14.0 in the place of 2.13.0" in text
        assert command in text
        assert "no TensorRT engine ran" in text
