"""The committed ledger is exact: held by the newest published run, entry by entry.

Nothing is run here. A published run may be older than the ledger: an entry of which it has no cell,
or whose oracle or route it did not know, is not put to the test; one that it contradicts asks for a
new run to be published.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from harness.choosing import likes
from harness.corpus_client import read_corpus
from harness.expectations.faults import LedgerFault, idle_selectors
from harness.expectations.ledger import Entry, Ledger, origins_of, selects_name, selects_subject
from harness.expectations.ledger_file import read_ledger
from harness.findings import Gate, GateReport
from harness.gate import judge
from harness.plan import PlannedCell
from harness.releases import load_catalogue
from harness.rig.record_json import TOO_OLD
from harness.rig.vocabulary import PINNED, Oracle, Stage, Symptom
from harness.store import RunFolder, RunState
from harness.subjects import known_subjects
from harness.toolchain.environment import PROJECT_ROOT

PUBLISHED = PROJECT_ROOT / "results" / "published"
LEDGER = read_ledger()


class Published:
    """A complete run that is published, and the corpus of today."""

    def __init__(self, run: RunFolder) -> None:
        self.corpus = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache").cases
        self.origins = origins_of(self.corpus)
        self.known = known_subjects(load_catalogue())
        self.subjects = run.provenance().subjects
        self.records = run.records()
        self.plan = [cell for cell in run.plan() if cell.key.case in self.origins]
        self.by_case: dict[str, list[PlannedCell]] = defaultdict(list)
        for cell in self.plan:
            if not cell.hypothetical:
                self.by_case[cell.key.case].append(cell)

    def judge(self, ledger: Ledger, cells: Iterable[PlannedCell]) -> GateReport:
        """The gate of these cells, as if no others had been planned."""
        plan = list(cells)
        records = {cell.key.cell_id: self.records[cell.key.cell_id] for cell in plan}
        partners = likes(self.subjects)
        return judge(plan, records, ledger, self.corpus, self.subjects, partners)

    def covered(self, entry: Entry) -> set[PlannedCell]:
        """The judged cells of which an entry speaks; without it, all others stay as they are."""
        return {
            cell
            for case, cells in self.by_case.items()
            if entry.names(case, self.origins[case])
            for cell in cells
            if entry.covers(cell.key, self.origins[case]) and self.knows(cell, entry.oracle)
        }

    def knows(self, cell: PlannedCell, oracle: Oracle) -> bool:
        """Whether the oracle was there when the cell was recorded."""
        return self.records[cell.key.cell_id].verdict(oracle).message != TOO_OLD

    def idle(self, ledger: Ledger) -> tuple[LedgerFault, ...]:
        return idle_selectors(ledger, self.corpus, self.known)


def newest(*, matched: bool) -> Published:
    runs = [RunFolder.open(path.parent) for path in PUBLISHED.glob("*/run.json")]
    complete = [run for run in runs if run.state() is RunState.COMPLETE]
    fitting = [run for run in complete if is_matched(run) is matched]
    return Published(max(fitting, key=lambda run: run.provenance().started_at))


def is_matched(run: RunFolder) -> bool:
    return run.plan()[0].key.environment != PINNED


@pytest.fixture(scope="module")
def published() -> Published:
    return newest(matched=False)


@pytest.fixture(scope="module")
def stack() -> Published:
    """The newest of matched environments, with every TensorRT-RTX."""
    return newest(matched=True)


def test_the_ledger_says_nothing_that_no_run_would_judge(published: Published) -> None:
    assert published.idle(LEDGER) == ()


def test_the_published_run_is_green_and_puts_most_entries_to_the_test(published: Published) -> None:
    report = published.judge(LEDGER, published.plan)
    found = [finding.reason for finding in report.findings if TOO_OLD not in finding.reason]
    assert (found, report.ledger_faults) == ([], ())
    assert report.gate is (Gate.INCONCLUSIVE if report.findings else Gate.GREEN)
    tested = [entry for entry in LEDGER.entries if published.covered(entry)]
    assert len(tested) > len(LEDGER.entries) / 2


def test_an_entry_that_is_not_put_to_the_test_names_no_case_of_the_run(
    published: Published,
) -> None:
    for entry in LEDGER.entries:
        known = any(
            published.knows(cell, entry.oracle)
            for cell in published.plan
            if cell.key.route in entry.routes
            and selects_name(entry.builder or "*", cell.key.builder)
            and selects_name(entry.environment or "*", cell.key.environment)
            and any(selects_subject(selector, cell.key.subject) for selector in entry.subjects)
        )
        if known and not published.covered(entry):
            named = [name for name in published.by_case if entry.names(name, entry.origin)]
            assert not named, f"{entry.id}: publish a run that judges {', '.join(named)} so"


def without(entry: Entry, *others: Entry) -> Ledger:
    return Ledger((*(each for each in LEDGER.entries if each is not entry), *others))


def test_deleting_any_entry_turns_the_gate_red_in_every_cell_of_it(published: Published) -> None:
    for entry in LEDGER.entries:
        cells = published.covered(entry)
        report = published.judge(without(entry), cells)
        assert not cells or report.gate is Gate.RED, entry.id
        reported = {finding.key for finding in report.findings if finding.oracle is entry.oracle}
        assert reported == {cell.key for cell in cells}


def test_the_published_stack_is_green(stack: Published) -> None:
    report = stack.judge(LEDGER, stack.plan)
    assert (report.findings, report.ledger_faults, report.gate) == ((), (), Gate.GREEN)


def test_an_entry_that_the_stack_alone_puts_to_the_test_cannot_be_deleted(
    published: Published, stack: Published
) -> None:
    alone = [entry for entry in LEDGER.entries if not published.covered(entry)]
    tested = [(entry, cells) for entry in alone if (cells := stack.covered(entry))]
    assert len(tested) > 20
    for entry, cells in tested:
        report = stack.judge(without(entry), cells)
        expected = Gate.INCONCLUSIVE if entry.permits_unsupported else Gate.RED
        assert report.gate is expected, entry.id


def wrong_symptom(entry: Entry, _: Published) -> Entry:
    other = Symptom.KILLED if entry.symptom != Symptom.KILLED else Symptom.FLAKY
    return dataclasses.replace(entry, symptom=other.value)


def wrong_stage(entry: Entry, _: Published) -> Entry:
    return dataclasses.replace(
        entry, stage=Stage.CAPTURE if entry.stage is not Stage.CAPTURE else Stage.LOAD
    )


def wrong_message(entry: Entry, _: Published) -> Entry:
    return dataclasses.replace(entry, message=f"(?:{entry.message}) and more")


def wrong_oracle(entry: Entry, _: Published) -> Entry:
    """Of the same cells; one that fails there too is in another entry already."""
    other = Oracle.SIGNATURE if entry.oracle is not Oracle.SIGNATURE else Oracle.STRUCTURE
    return dataclasses.replace(entry, oracle=other)


def one_more_subject(entry: Entry, run: Published) -> Entry | None:
    """The next one that is judged by one of its routes and that it does not name."""
    there = dict.fromkeys(
        cell.key.subject
        for cells in run.by_case.values()
        for cell in cells
        if cell.key.route in entry.routes
    )
    left = (
        subject
        for subject in there
        if not any(selects_subject(selector, subject) for selector in entry.subjects)
    )
    more = next(left, None)
    return more and dataclasses.replace(entry, subjects=(*entry.subjects, more))


def one_more_case(entry: Entry, run: Published) -> Entry | None:
    """The first that it does not name, and that goes by its routes through its subjects."""
    wider = (
        dataclasses.replace(entry, cases=(*entry.cases, name))
        for name in run.by_case
        if not entry.names(name, run.origins[name])
    )
    covered = len(run.covered(entry))
    return next((each for each in wider if len(run.covered(each)) > covered), None)


CHANGES: tuple[Callable[[Entry, Published], Entry | None], ...] = (
    wrong_symptom, wrong_stage, wrong_message, wrong_oracle,
)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        *CHANGES,
        *(pytest.param(more, marks=pytest.mark.slow) for more in (one_more_subject, one_more_case)),
    ],
)
def test_any_entry_made_false_turns_the_gate_red_in_its_place_and_beside_it(
    published: Published, change: Callable[[Entry, Published], Entry | None]
) -> None:
    changed = 0
    for entry in LEDGER.entries:
        false = change(entry, published)
        if false is None or not published.covered(entry):
            continue
        cells = published.covered(entry) | published.covered(false)
        beside = Ledger((*LEDGER.entries, dataclasses.replace(false, id="false")))
        for ledger in (without(entry, false), beside):
            assert published.judge(ledger, cells).gate is Gate.RED, (entry.id, false)
        changed += 1
    assert changed > len(LEDGER.entries) / 3


def test_any_entry_that_is_there_twice_turns_the_gate_red_and_both_are_named(
    published: Published,
) -> None:
    for entry in LEDGER.entries:
        cells = published.covered(entry)
        twice = Ledger((*LEDGER.entries, dataclasses.replace(entry, id="again")))
        report = published.judge(twice, cells)
        assert not cells or report.gate is Gate.RED
        named = [fault.entry_ids for fault in report.ledger_faults]
        assert named == ([(entry.id, "again")] if cells else [])


@pytest.mark.parametrize(
    "nowhere",
    [
        {"cases": ("no_such_case",)},
        {"subjects": ("1.4.0",)},
        {"subjects": ("2.4.0",), "routes": ("export",)},
        {"lane": "nightly"},
    ],
    ids=str,
)
def test_an_entry_of_no_cell_or_of_hypothetical_ones_is_a_fault_in_any_run(
    published: Published, nowhere: dict[str, Any]
) -> None:
    false = dataclasses.replace(LEDGER.entries[0], id="false", **nowhere)
    faults = published.idle(Ledger((*LEDGER.entries, false)))
    assert {fault.entry_ids for fault in faults} == {("false",)}
