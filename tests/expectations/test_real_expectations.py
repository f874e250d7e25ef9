"""The committed register and table are exact: held by the newest published runs, row by row.

Nothing is run here. A published run may be older than the table: what it contradicts asks for a new
run to be published.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Iterable

import pytest

from harness.choosing import likes
from harness.corpus_client import read_corpus
from harness.expectations.absorb import absorb
from harness.expectations.defects import Register
from harness.expectations.facts import UNSUPPORTED, place_of
from harness.expectations.faults import faults_of
from harness.expectations.reading import read_expectations
from harness.expectations.table import ALL, UNKNOWN, Entry, Table, table_texts
from harness.findings import Gate, GateReport
from harness.gate import judge
from harness.plan import PlannedCell
from harness.releases import load_catalogue
from harness.rig.record_json import TOO_OLD
from harness.rig.vocabulary import PINNED
from harness.store import RunFolder, RunState
from harness.subjects import known_subjects
from harness.toolchain.environment import PROJECT_ROOT

PUBLISHED = PROJECT_ROOT / "results" / "published"
KNOWN = read_expectations()
MOST_DEFECTS = 120


class Published:
    """A complete run that is published."""

    def __init__(self, run: RunFolder) -> None:
        self.subjects = run.provenance().subjects
        self.records = run.records()
        self.plan = run.plan()
        self.by_case: dict[tuple[str, str], list[PlannedCell]] = defaultdict(list)
        for cell in self.plan:
            if not cell.hypothetical:
                place = place_of(cell.key)
                self.by_case[place.lane, place.case].append(cell)

    def judge(self, table: Table, cells: Iterable[PlannedCell]) -> GateReport:
        """The gate of these cells, as if no others had been planned."""
        plan = list(cells)
        records = {cell.key.cell_id: self.records[cell.key.cell_id] for cell in plan}
        return judge(plan, records, table, self.subjects, likes(self.subjects))

    def cells(self, entry: Entry, names: frozenset[str]) -> list[PlannedCell]:
        """The judged cells of which an entry speaks at its own place."""
        place = entry.place
        return [
            cell
            for cell in self.by_case[place.lane, place.case]
            if (place_of(cell.key) == dataclasses.replace(place, route=cell.key.route))
            and place.route in (ALL, cell.key.route)
            and (cell.key.subject in names or ALL in names)
        ]


def newest() -> Published:
    """The newest complete run of the pinned environment."""
    runs = [RunFolder.open(path.parent) for path in PUBLISHED.glob("*/run.json")]
    complete = [run for run in runs if run.state() is RunState.COMPLETE]
    fitting = [run for run in complete if run.plan()[0].key.environment == PINNED]
    return Published(max(fitting, key=lambda run: run.provenance().started_at))


@pytest.fixture(scope="module")
def published() -> Published:
    return newest()


def of_case(place_lane: str, case: str) -> dict[Entry, frozenset[str]]:
    """The rows of one case: a table that is quick to change."""
    return {
        entry: names
        for entry, names in KNOWN.table.entries.items()
        if (entry.place.lane, entry.place.case) == (place_lane, case)
    }


def test_register_and_table_do_not_contradict_each_other() -> None:
    corpus = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache").cases
    known = known_subjects(load_catalogue())
    assert faults_of(KNOWN.register, KNOWN.table, corpus, known) == ()


def test_the_table_is_as_the_machine_writes_it() -> None:
    folder = PROJECT_ROOT / "harness" / "expectations" / "expected"
    assert {path.name: path.read_text() for path in folder.glob("*.csv")} == table_texts(
        KNOWN.table
    )


def test_there_are_few_defects_and_none_of_them_is_a_rest() -> None:
    assert 0 < len(KNOWN.register.defects) <= MOST_DEFECTS
    assert not [defect.id for defect in KNOWN.register.defects if "misc" in defect.id]


def test_the_published_runs_are_green(published: Published) -> None:
    run = published
    report = run.judge(KNOWN.table, run.plan)
    found = [finding.reason for finding in report.findings if TOO_OLD not in finding.reason]
    assert found == []
    assert report.gate is (Gate.INCONCLUSIVE if report.findings else Gate.GREEN)


def test_deleting_any_row_turns_the_gate_red_and_an_unsupported_one_inconclusive(
    published: Published,
) -> None:
    run = published
    tried = 0
    for entry, names in KNOWN.table.entries.items():
        cells = run.cells(entry, names)
        if not cells:
            continue
        rest = {e: n for e, n in of_case(entry.place.lane, entry.place.case).items() if e != entry}
        report = run.judge(Table(rest, KNOWN.table.asked), cells)
        unsupported = entry.fact.oracle == UNSUPPORTED and not entry.removed
        assert report.gate is (Gate.INCONCLUSIVE if unsupported else Gate.RED), entry
        tried += 1
    assert tried > 100


def test_a_row_too_many_turns_the_gate_red_wherever_it_stands(
    published: Published,
) -> None:
    run = published
    for entry, names in KNOWN.table.entries.items():
        cells = run.cells(entry, names)
        if cells and not entry.removed and entry.fact.oracle != UNSUPPORTED:
            fact = dataclasses.replace(entry.fact, says="something that nothing says")
            rows = of_case(entry.place.lane, entry.place.case)
            rows[dataclasses.replace(entry, fact=fact)] = names
            assert run.judge(Table(rows, KNOWN.table.asked), cells).gate is Gate.RED, entry


def test_deleting_any_defect_and_adding_one_is_told() -> None:
    defects = KNOWN.register.defects
    for gone in defects:
        rest = Register(tuple(each for each in defects if each is not gone))
        told = {fault.about for fault in faults_of(rest, KNOWN.table)}
        assert bool(told) is not bool(gone.not_visible), gone.id
    again = Register((*defects, dataclasses.replace(defects[0], id="again")))
    assert "again" in {fault.about for fault in faults_of(again, KNOWN.table)}


def test_held_out_cases_are_named_by_the_signs_alone(published: Published) -> None:
    """Of the failures of a fifth of the models, whose rows are withheld."""
    models = sorted({_model(case) for _, case in published.by_case})
    held = set(models[::5])
    rows = {e: n for e, n in KNOWN.table.entries.items() if _model(e.place.case) not in held}
    records = [r for r in published.records.values() if _model(r.key.case) in held]
    made = absorb(Table(rows, KNOWN.table.asked), KNOWN.register, records, published.subjects)
    right = wrong = unclear = 0
    for entry, names in made.entries.items():
        if _model(entry.place.case) in held and entry.fact.oracle != UNSUPPORTED:
            named = entry.defect.removeprefix(UNKNOWN)
            for name in names:
                known = KNOWN.table.expected(entry.place, name).get(entry.fact.seen)
                if known is not None:
                    right += named == known.defect
                    unclear += not named or "|" in named
                    wrong += bool(named) and "|" not in named and named != known.defect
    everything = right + wrong + unclear
    assert everything > 100
    assert right / everything >= 0.80
    assert wrong / everything <= 0.03


def _model(case: str) -> str:
    return case.partition("@")[0].removeprefix("recorded_")
