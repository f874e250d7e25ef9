"""What is wrong with a ledger itself: entries that overlap, and entries that expect nothing."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from harness.expectations.faults import idle_selectors
from harness.expectations.ledger import Entry, Ledger
from harness.findings import Gate, GateReport
from harness.gate import judge
from harness.rig.records import CellRecord
from harness.rig.vocabulary import Oracle, SubjectKind
from tests.record_builders import (
    by_id,
    case,
    entry,
    failed,
    key,
    planned,
    record,
    subject,
    unsupported,
)

CASES = [
    case("a"),
    case("b", origin="handmade"),
    dataclasses.replace(case("own"), capture="functional"),
]
SUBJECTS = [
    subject("2.10.0", "legacy", "export", hypothetical_routes=("export",)),
    subject("2.13.0", "legacy", "export"),
    subject("torch", "direct", "plain", kind=SubjectKind.TORCH),
]


def complaints(*entries: Entry) -> list[str]:
    return [fault.reason for fault in idle_selectors(Ledger(entries), CASES, SUBJECTS)]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"cases": ("a", "gone-*")}, "cases: 'gone-*' names no case of the corpus"),
        ({"origin": "handmade"}, "cases: 'a' names no case of origin 'handmade'"),
        ({"subjects": ("2.13.0", "<2.2")}, "subjects: '<2.2' names no known subject"),
        (
            {"subjects": ("2.13.0", "2.10.0")},
            "subjects: '2.10.0' is never judged of values by export",
        ),
        (
            {"subjects": ("2.10.0",), "routes": ("legacy", "export")},
            "routes: none of its subjects is ever judged of values by 'export'",
        ),
        (
            {"routes": ("export", "plain")},
            "routes: none of its subjects is ever judged of values by 'plain'",
        ),
        (
            {"oracle": Oracle.UNFLATTEN},
            "subjects: '2.13.0' is never judged of unflatten by export",
        ),
        ({"capture": "sideways"}, "cases: 'a' is never captured as 'sideways'"),
        ({"cases": ("own",), "capture": "strict"}, "cases: 'own' is never captured as 'strict'"),
        ({"lane": "package"}, "lane: no cell has 'package'; there are graph"),
        ({"builder": "tensorrt"}, "builder: no cell has 'tensorrt'; there are segment"),
        ({"environment": "matched"}, "environment: no cell has 'matched'; there are pinned"),
        ({"environment": "pinned,there"}, "environment: no cell has 'there'; there are pinned"),
    ],
)
def test_a_part_of_an_entry_that_no_judged_cell_has_is_a_fault(
    fields: dict[str, Any], complaint: str
) -> None:
    assert complaints(entry(**fields)) == [f'entry "known": {complaint}; remove it, or correct it']


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subjects": ("<2.14",)},  # one of the two is judged by export
        {"subjects": ("2.10.0", "2.13.0"), "routes": ("legacy", "export")},
        {"cases": ("*",), "origin": "handmade"},
        {"oracle": Oracle.UNFLATTEN, "subjects": ("torch",), "routes": ("direct",)},
        {"cases": ("own",), "capture": "functional"},
        {"cases": ("*",), "capture": "functional"},
        {"capture": "strict", "lane": "graph", "builder": "segment", "environment": "pinned"},
    ],
)
def test_an_entry_that_names_some_judged_cell_in_each_of_its_parts_is_none(
    fields: dict[str, Any],
) -> None:
    assert complaints(entry(**fields)) == []


def test_an_entry_of_hypothetical_cells_alone_is_a_fault_although_it_changes_no_verdict() -> None:
    only = entry(subjects=("2.10.0",))
    made = record(key(name="2.10.0"), failed(Oracle.VALUES), hypothetical=True)
    plan = [planned(made.key, hypothetical=True)]
    idle = idle_selectors(Ledger((only,)), CASES, SUBJECTS)
    assert [fault.entry_ids for fault in idle] == [("known",)]
    report = judge(plan, by_id(made), Ledger((only,)), CASES, SUBJECTS, idle=idle)
    assert (report.gate, report.ledger_faults, report.findings) == (Gate.RED, idle, ())


def judged(*records: CellRecord, entries: tuple[Entry, ...]) -> GateReport:
    plan = [planned(each.key, each.hypothetical) for each in records]
    return judge(plan, by_id(*records), Ledger(entries), CASES, SUBJECTS)


def the_fault(*records: CellRecord, entries: tuple[Entry, ...]) -> str:
    report = judged(*records, entries=entries)
    assert report.gate is Gate.RED
    (fault,) = report.ledger_faults
    assert fault.entry_ids == tuple(entry.id for entry in entries)
    return fault.reason


TWO = (record(key("a"), failed(Oracle.VALUES)), record(key("b"), failed(Oracle.VALUES)))


def test_an_entry_that_repeats_another_is_red_although_every_verdict_is_as_listed() -> None:
    reason = the_fault(TWO[0], entries=(entry(), entry(id="again")))
    assert reason == (
        'entries "known" and "again" both list values of 1 cell, such as a [2.13.0 export]: '
        'delete "again", all of whose cells here are those of "known"'
    )


def test_of_two_entries_the_one_that_lies_within_the_other_is_to_be_deleted() -> None:
    wide = entry(id="wide", cases=("a", "b"))
    assert 'delete "known", all' in the_fault(*TWO, entries=(entry(), wide))
    assert 'delete "known", all' in the_fault(*TWO, entries=(wide, entry()))


def test_of_two_entries_that_share_some_cells_one_is_to_be_narrowed() -> None:
    third = record(key("b", "2.10.0", "legacy"), failed(Oracle.VALUES))
    one = entry(id="one", cases=("a", "b"))
    other = entry(id="other", cases=("b",), subjects=("<2.14",), routes=("legacy", "export"))
    reason = the_fault(*TWO, third, entries=(one, other))
    assert "of 1 cell, such as b [2.13.0 export]" in reason
    assert 'narrow "other" to cells that "one" does not name' in reason


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_entries_the_one_that_says_something_else_than_is_seen_is_the_false_one(
    turned: bool,
) -> None:
    false = entry(id="false", cases=("a", "b"), message="bang")
    both = (entry(cases=("a",)), false)
    reason = the_fault(
        TWO[0],
        record(key("b"), failed(Oracle.VALUES, "bang")),
        entries=both[::-1] if turned else both,
    )
    assert 'narrow "false" to cells that "known" does not name' in reason


def test_entries_of_two_oracles_or_of_two_cells_or_of_an_unjudged_cell_do_not_overlap() -> None:
    both = record(key("a"), failed(Oracle.VALUES), failed(Oracle.METADATA))
    metadata = entry(Oracle.METADATA, id="metadata")
    assert judged(both, entries=(entry(), metadata)).gate is Gate.GREEN
    assert judged(*TWO, entries=(entry(), entry(id="b", cases=("b",)))).gate is Gate.GREEN
    apart = record(key("a"), failed(Oracle.VALUES), hypothetical=True)
    assert judged(apart, entries=(entry(), entry(id="again"))).gate is Gate.GREEN


def test_two_permissions_for_one_cell_overlap_where_it_could_not_be_asked() -> None:
    permission = entry(Oracle.COMPLETION, symptom="unsupported", stage=None, message="no wheel")
    wide = entry(Oracle.COMPLETION, id="w", symptom="unsupported", stage=None, message="no .*")
    assert 'delete "w"' in the_fault(unsupported(key()), entries=(permission, wide))
    assert judged(record(key()), entries=(permission, wide)).gate is Gate.GREEN


def test_a_part_of_a_run_does_not_see_an_overlap_outside_of_it() -> None:
    wide = entry(id="wide", cases=("*",))
    report = judged(TWO[1], entries=(entry(), wide))
    assert (report.gate, report.ledger_faults) == (Gate.GREEN, ())


def test_an_entry_may_be_of_an_environment_that_a_release_pins() -> None:
    ledger = Ledger((entry(environment="torch-2.13.*"),))
    pinning = [dataclasses.replace(each, torch_pinned="2.13.0") for each in SUBJECTS]
    before, after = idle_selectors(ledger, CASES, SUBJECTS), idle_selectors(ledger, CASES, pinning)
    assert [fault.reason.split(":")[1].strip() for fault in before] == ["environment"]
    assert not after
