"""Proposals: the smallest scopes that make a run green, and nothing that was not seen."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.expectations.ledger import Entry, Ledger
from harness.expectations.ledger_file import parse_ledger, to_toml
from harness.expectations.propose import escaped_pattern, propose
from harness.gate import Gate, judge
from harness.rig.records import CellKey, CellRecord, Verdict
from harness.rig.vocabulary import Oracle, Stage
from tests.record_builders import by_id, case, entry, failed, key, planned, record, unsupported

NAMES = ("a", "b", "odd[1]*", "odd1x")  # the third, as a glob, would choose the fourth
CASES = [case(name) for name in NAMES]
SUBJECTS = ("2.10.0", "2.13.0", "torch")
ROUTES = ("legacy", "export")
KEYS = [key(name, subject, route) for name in NAMES for subject in SUBJECTS for route in ROUTES]


def scopes(entries: list[Entry]) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    return [(each.cases, each.subjects, each.routes) for each in entries]


def failing(*keys: CellKey) -> list[CellRecord]:
    return [record(each, failed(Oracle.VALUES)) for each in keys]


def test_failures_that_form_a_product_are_one_entry() -> None:
    keys = [key(c, s, r) for c in "ab" for s in ("2.13.0", "2.9.0", "torch") for r in ROUTES]
    assert scopes(propose(failing(*keys), Ledger(), CASES)) == [
        (("a", "b"), ("2.9.0", "2.13.0", "torch"), ("export", "legacy"))
    ]


def passing(*keys: CellKey) -> list[CellRecord]:
    return [record(each) for each in keys]


def test_cases_with_unlike_scopes_are_divided_so_that_no_passing_cell_is_covered() -> None:
    bad = [key("a", "2.13.0"), key("b", "2.13.0"), key("b", "2.10.0")]
    assert scopes(propose([*failing(*bad), *passing(key("a", "2.10.0"))], Ledger(), CASES)) == [
        (("a",), ("2.13.0",), ("export",)),
        (("b",), ("2.10.0", "2.13.0"), ("export",)),
    ]


def test_a_scope_that_is_no_product_is_divided_by_route() -> None:
    bad = [key("a", "2.13.0", "legacy"), key("a", "2.13.0"), key("a", "2.10.0", "legacy")]
    assert scopes(propose([*failing(*bad), *passing(key("a", "2.10.0"))], Ledger(), CASES)) == [
        (("a",), ("2.10.0", "2.13.0"), ("legacy",)),
        (("a",), ("2.13.0",), ("export",)),
    ]


def test_a_cell_that_the_run_does_not_have_divides_nothing() -> None:
    # name-matching has no legacy route, and case b was not asked of 2.10.0.
    bad = [key("a", "2.10.0", "legacy"), key("a", "2.13.0", "legacy"), key("a", "name-matching"),
           key("a", "2.13.0"), key("b", "2.13.0", "legacy")]  # fmt: skip
    assert scopes(propose([*failing(*bad), *passing(key("b", "torch"))], Ledger(), CASES)) == [
        (("a", "b"), ("2.10.0", "2.13.0", "name-matching"), ("export", "legacy"))
    ]


def test_a_hypothetical_cell_divides_nothing_though_it_passes() -> None:
    bad = [key("a", "2.10.0", "legacy"), key("a", "2.13.0", "legacy"), key("a", "2.13.0")]
    apart = record(key("a", "2.10.0"), hypothetical=True)
    assert scopes(propose([*failing(*bad), apart], Ledger(), CASES)) == [
        (("a",), ("2.10.0", "2.13.0"), ("export", "legacy"))
    ]


def test_a_passing_cell_of_a_third_case_keeps_it_out_of_the_scope() -> None:
    bad = [key("a", "2.10.0"), key("a", "2.13.0"), key("b", "2.10.0"), key("b", "2.13.0")]
    bad += [key("odd1x", "2.13.0")]
    found = propose([*failing(*bad), *passing(key("odd1x", "2.10.0"))], Ledger(), CASES)
    assert scopes(found) == [
        (("a", "b"), ("2.10.0", "2.13.0"), ("export",)),
        (("odd1x",), ("2.13.0",), ("export",)),
    ]


def test_failures_that_differ_in_oracle_stage_or_message_are_different_entries() -> None:
    records = [
        record(key("a"), failed(Oracle.VALUES), failed(Oracle.METADATA)),
        record(key("b"), failed(Oracle.VALUES, "other")),
        record(key("odd[1]*"), failed(Oracle.VALUES, stage=Stage.LOAD)),
    ]
    found = propose(records, Ledger(), CASES)
    assert [(each.oracle, each.stage, each.message) for each in found] == [
        (Oracle.VALUES, Stage.LOAD, "boom"),
        (Oracle.VALUES, Stage.RUN, "boom"),
        (Oracle.VALUES, Stage.RUN, "other"),
        (Oracle.METADATA, Stage.RUN, "boom"),
    ]


def test_what_is_listed_is_not_proposed_again_and_the_rest_keeps_its_own_scope() -> None:
    found = propose(failing(key("a"), key("b")), Ledger((entry(),)), CASES)
    assert scopes(found) == [(("b",), ("2.13.0",), ("export",))]


def test_nothing_is_proposed_for_hypothetical_cells_and_subjects_without_a_name() -> None:
    hypothetical = record(key(), failed(Oracle.VALUES), hypothetical=True)
    file = record(key("a", "file:1a2b"), failed(Oracle.VALUES))
    assert propose([hypothetical, file], Ledger(), CASES) == []


def test_an_unsupported_cell_is_proposed_with_its_reason() -> None:
    (found,) = propose([unsupported(key(), "no wheel (2.13.0)")], Ledger(), CASES)
    assert (found.symptom, found.stage, found.oracle) == ("unsupported", None, Oracle.COMPLETION)
    assert found.permits(unsupported(key(), "no wheel (2.13.0)"))


def test_ids_are_new() -> None:
    first = propose(failing(key()), Ledger(), CASES)
    # Three that begin with one case and one route, and would all like one name.
    records = [
        record(key("a", "2.13.0"), failed(Oracle.VALUES, "x")),
        record(key("a", "2.10.0"), failed(Oracle.VALUES, "y")),
        record(key("a", "torch"), failed(Oracle.VALUES, "z")),
    ]
    ledger = Ledger((dataclasses.replace(first[0], cases=("z",)),))
    ids = [each.id for each in (*ledger.entries, *propose(records, ledger, CASES))]
    assert len(set(ids)) == len(ids) == 4


def test_a_proposal_can_be_pasted_and_is_refused_until_it_is_explained() -> None:
    message = 'it\'s "C:\\x" (1)'
    proposed = propose([record(key(), failed(Oracle.VALUES, message))], Ledger(), CASES)
    text = "schema = 1\n" + to_toml(proposed)
    with pytest.raises(UsageError, match="not explained"):
        parse_ledger(text, "ledger")
    (read,) = parse_ledger(text.replace("UNEXPLAINED: ", ""), "ledger").entries
    assert read.expects(failed(Oracle.VALUES, message))


def test_a_capture_mode_is_named_only_where_it_matters() -> None:
    strict = dataclasses.replace(key("a"), capture="strict")
    (both,) = propose(failing(key("a"), strict), Ledger(), CASES)
    assert both.capture is None
    (one,) = propose([*failing(key("a")), record(strict)], Ledger(), CASES)
    assert one.capture == "nonstrict"
    # Case b, which nobody asked in strict mode, contradicts nothing.
    (all_,) = propose(failing(key("a"), strict, key("b")), Ledger(), CASES)
    assert all_.capture is None


@given(st.text())
def test_an_escaped_message_matches_itself_alone(text: str) -> None:
    pattern = re.compile(escaped_pattern(text), re.DOTALL)
    assert pattern.fullmatch(text)
    assert not pattern.fullmatch(text + "x")
    if text:
        other = chr((ord(text[0]) + 1) % 0xD800) + text[1:]
        assert not pattern.fullmatch(other)


verdicts = st.builds(
    failed,
    st.sampled_from([Oracle.VALUES, Oracle.WIRING, Oracle.METADATA]),
    st.sampled_from(["boom", "a (b) [c] \\ .*"]),
    st.sampled_from([Stage.LOAD, Stage.RUN]),
)
keys = st.sampled_from(KEYS) | st.sampled_from(KEYS).map(
    lambda each: dataclasses.replace(each, capture="strict")
)
outcomes = st.lists(verdicts, max_size=2) | st.just(None)
runs = st.dictionaries(keys, st.tuples(outcomes, st.booleans()), min_size=1, max_size=len(KEYS))
"""Of each cell: what fails, or None where it could not be asked; and whether it is hypothetical."""


def records_of(run: dict[CellKey, tuple[list[Verdict] | None, bool]]) -> list[CellRecord]:
    return [
        unsupported(cell, hypothetical=apart)
        if found is None
        else record(cell, *found, hypothetical=apart)
        for cell, (found, apart) in run.items()
    ]


@given(runs)
def test_a_ledger_of_the_proposals_makes_its_run_green_and_each_entry_is_needed(
    run: dict[CellKey, tuple[list[Verdict] | None, bool]],
) -> None:
    records = by_id(*records_of(run))
    plan = [planned(cell, apart) for cell, (_, apart) in run.items()]
    proposed = propose(records.values(), Ledger(), CASES)
    report = judge(plan, records, Ledger(tuple(proposed)), CASES, [])
    assert (report.gate, report.findings) == (Gate.GREEN, ())
    for entry_ in proposed:
        rest = Ledger(tuple(each for each in proposed if each is not entry_))
        assert judge(plan, records, rest, CASES, []).gate is not Gate.GREEN
    assert propose(records.values(), Ledger(tuple(proposed)), CASES) == []


@given(runs)
def test_no_proposed_entry_covers_a_gated_cell_that_does_not_fail_so(
    run: dict[CellKey, tuple[list[Verdict] | None, bool]],
) -> None:
    gated = [each for each in records_of(run) if not each.hypothetical]
    for entry_ in propose(records_of(run), Ledger(), CASES):
        for each in gated:
            if entry_.covers(each.key, "exported"):
                as_listed = entry_.expects(each.verdict(entry_.oracle)) or entry_.permits(each)
                assert as_listed, (entry_, each.key)


@given(runs)
def test_proposals_do_not_hang_on_the_order_of_the_records(
    run: dict[CellKey, tuple[list[Verdict] | None, bool]],
) -> None:
    records = records_of(run)
    assert propose(records, Ledger(), CASES) == propose(records[::-1], Ledger(), CASES)
