"""The committed register and table are exact: held by the newest published runs, row by row.

Nothing is run here. A published run may be older than the table: what it contradicts asks for a new
run to be published.
"""

import dataclasses
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from harness.catalogue.releases import load_catalogue
from harness.gate.attribution import due_to
from harness.gate.findings import CellClass, Gate, GateReport
from harness.gate.judge import judge
from harness.register.absorb import absorb
from harness.register.defects import Register
from harness.register.expected import read_expectations
from harness.register.facts import NAMED_SUBJECTS, UNSUPPORTED, Fact, Place, place_of
from harness.register.faults import faults_of
from harness.register.table import ALL, UNKNOWN, Entry, Table, asked_of
from harness.register.table_files import table_texts
from harness.runs.plan import PlannedCell, judged_cells
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import likes
from harness.subjects.specs import known_subjects
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import read_corpus
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.record_json import TOO_OLD
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Outcome, Stage
from tests.record_builders import record, unsupported

PUBLISHED = PROJECT_ROOT / "results" / "published"
KNOWN = read_expectations()
MOST_DEFECTS = 195
FOLDS = 10
RED = {CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS}


class Published:
    """A complete run that is published."""

    def __init__(self, run: RunFolder) -> None:
        self.subjects = run.provenance().subjects
        self.records = run.records()
        self.plan = run.plan()


class EveryCell:
    """The judged cells of a run, and those that the table alone speaks of, as it tells them.

    So that every row has cells that show it, whatever part of the corpus the run has.
    """

    def __init__(self, published: Published) -> None:
        self.subjects = published.subjects
        self.plan = [cell for cell in published.plan if not cell.hypothetical]
        self.records = dict(published.records)
        self.of: dict[Entry, list[PlannedCell]] = defaultdict(list)
        by_place: dict[Place, list[PlannedCell]] = defaultdict(list)
        for cell in self.plan:
            by_place[place_of(cell.key)].append(cell)
        for entry, names in KNOWN.table.entries.items():
            for place in places_of(entry):
                asked = KNOWN.table.asked[asked_of(place)]
                cells = by_place.get(place) or [self._as_told(place, name) for name in asked]
                by_place[place] = cells
                self.of[entry] += [c for c in cells if {c.key.subject, ALL} & names]

    def _as_told(self, place: Place, name: str) -> PlannedCell:
        record = as_told(place, name)
        self.records[record.key.cell_id] = record
        self.plan.append(PlannedCell(record.key, False, name))
        return self.plan[-1]

    def judge(self, table: Table, cells: Iterable[PlannedCell]) -> GateReport:
        """The gate of these cells, as if no others had been planned."""
        plan = list(cells)
        records = {cell.key.cell_id: self.records[cell.key.cell_id] for cell in plan}
        return judge(plan, records, table, self.subjects, likes(self.subjects))


def places_of(entry: Entry) -> list[Place]:
    """Where an entry holds by its own settings."""
    place = entry.place
    routes = [route for *_, route in KNOWN.table.asked] if place.route == ALL else [place.route]
    places = [dataclasses.replace(place, route=route) for route in dict.fromkeys(routes)]
    return [each for each in places if asked_of(each) in KNOWN.table.asked]


def as_told(place: Place, name: str) -> CellRecord:
    """The record of a cell that shows exactly what the table says of it."""
    key = CellKey(
        place.case,
        place.capture,
        name,
        Route(place.route),
        Lane(place.lane),
        place.builder,
        environment=place.environment,
    )
    facts = [entry.fact for entry in KNOWN.table.expected(place, name).values()]
    for fact in facts:
        if fact.oracle == UNSUPPORTED:
            return unsupported(key, fact.says)
    said: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for fact in facts:
        said[fact.oracle, fact.fails, fact.harm].append(fact.says)
    verdicts = [
        Verdict(
            Oracle(oracle), Outcome.FAILED, Symptom(fails.partition("@")[0]),
            Stage(fails.partition("@")[2]), "; ".join(says), harm=Harm(harm) if harm else None,
        )
        for (oracle, fails, harm), says in said.items()
    ]  # fmt: skip
    return record(key, *verdicts)


def newest() -> Published:
    """The newest run of all releases in the pinned environment."""
    return Published(RunFolder.open(sorted(PUBLISHED.glob("*-all-releases"))[-1]))


@pytest.fixture(scope="module")
def published():
    return newest()


@pytest.fixture(scope="module")
def every(published):
    return EveryCell(published)


def test_register_and_table_do_not_contradict_each_other():
    corpus = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache").cases
    known = known_subjects(load_catalogue())
    assert faults_of(KNOWN.register, KNOWN.table, judged_cells(corpus, known)) == ()


def test_the_table_is_as_the_machine_writes_it():
    folder = PROJECT_ROOT / "harness" / "expectations" / "expected"
    assert {path.name: path.read_text() for path in folder.glob("*.csv")} == table_texts(
        KNOWN.table
    )


def test_there_are_few_defects_and_none_of_them_is_a_rest():
    assert 0 < len(KNOWN.register.defects) <= MOST_DEFECTS
    assert not [defect.id for defect in KNOWN.register.defects if "misc" in defect.id]


def test_the_published_runs_are_green(published):
    run = published
    report = judge(run.plan, run.records, KNOWN.table, run.subjects, likes(run.subjects))
    found = [finding.reason for finding in report.findings if TOO_OLD not in finding.reason]
    assert found == []
    assert report.gate is (Gate.INCONCLUSIVE if report.findings else Gate.GREEN)


def test_what_the_table_alone_speaks_of_is_green_as_it_tells_it(every):
    ordinary = [cell for cell in every.plan if cell.key.environment == PINNED]
    report = every.judge(KNOWN.table, ordinary)
    assert (report.gate, report.findings) == (Gate.GREEN, ())


def test_deleting_any_row_turns_the_gate_red_and_one_of_what_cannot_be_asked_inconclusive(every):
    """In every cell of which it speaks, so that one release less is told as well."""
    of_case: dict[tuple[str, str], dict[Entry, frozenset[str]]] = defaultdict(dict)
    for entry, names in KNOWN.table.entries.items():
        of_case[entry.place.lane, entry.place.case][entry] = names
    for gone, cells in every.of.items():
        assert cells, gone
        rest = dict(of_case[gone.place.lane, gone.place.case])
        del rest[gone]
        report = every.judge(Table(rest, KNOWN.table.asked), cells)
        if gone.fact.oracle == UNSUPPORTED and not gone.removed:
            assert report.gate is Gate.INCONCLUSIVE, gone
        else:
            assert set(report.classes.values()) <= RED, gone
    assert set(every.of) == set(KNOWN.table.entries)


@pytest.mark.parametrize(
    ("number", "oracle"), [*enumerate(("values", "completion", "unflatten", UNSUPPORTED))]
)
def test_a_row_too_many_turns_the_gate_red_wherever_it_stands(every, number, oracle):
    """Each case with rows of one of four oracles."""
    fails = "" if oracle == UNSUPPORTED else f"{Symptom.ERROR}@{Stage.RUN}"
    fact = Fact(oracle, fails, "something that nothing says")
    more: dict[Entry, frozenset[str]] = dict(KNOWN.table.entries)
    cases = set(sorted({cell.key.case for cell in every.plan})[number::4])
    cells = [cell for cell in every.plan if cell.key.case in cases]
    for cell in cells:
        entry = Entry(place_of(cell.key), fact, "known")
        more[entry] = more.get(entry, frozenset()) | {cell.key.subject}
    report = every.judge(Table(more, KNOWN.table.asked), cells)
    assert len(report.classes) > len(KNOWN.table.entries) / 5
    # What a builder cannot be asked for has a reason of its own, whatever reason it inherits.
    left = [cell for cell in cells if report.classes[cell.key.cell_id] not in RED]
    assert all(cell.key.builder != SEGMENT and oracle == UNSUPPORTED for cell in left)
    assert not left or every.judge(Table(more, KNOWN.table.asked), left).gate is Gate.INCONCLUSIVE


def test_a_row_of_a_cell_that_nobody_asks_is_told():
    """A run cannot tell it; the table can."""
    cases = read_corpus(sys.executable, cache=PROJECT_ROOT / ".cache").cases
    subjects = known_subjects(load_catalogue())
    judged = judged_cells(cases, subjects)
    asked = {place_of(key) for key in judged}
    ordinary = {entry.place: entry for entry in KNOWN.table.entries if entry.place in asked}
    more = {
        dataclasses.replace(entry, place=dataclasses.replace(place, route=route)): frozenset(
            KNOWN.table.releases[-1:]
        )
        for place, entry in ordinary.items()
        for route in Route
    }
    more = {entry: names for entry, names in more.items() if entry.place not in asked}
    told = faults_of(KNOWN.register, Table(more, KNOWN.table.asked), judged)
    unasked = [fault for fault in told if fault.reason.endswith("no run asks this; delete the row")]
    assert len(unasked) == len(more) > len(cases)


def test_deleting_any_defect_and_adding_one_is_told():
    defects, without = KNOWN.register.defects, KNOWN.table.without_rows
    for gone in defects:
        rest = Register(tuple(each for each in defects if each is not gone))
        some = gone.id if not gone.not_visible else defects[0].id
        its = {entry: n for entry, n in KNOWN.table.entries.items() if entry.defect == some}
        told = {fault.about for fault in faults_of(rest, Table(its, KNOWN.table.asked, without))}
        assert gone.id in told, gone.id
    twins = [dataclasses.replace(each, id=f"{each.id}-again") for each in defects]
    faults = faults_of(Register((*defects, *twins)), KNOWN.table)
    assert {fault.about for fault in faults} == {twin.id for twin in twins}


def proposals(rows: dict[Entry, frozenset[str]], held: list[CellRecord]) -> Counter[str]:
    """How the failures of some records are named, of which these rows tell nothing.

    Failures that the rows expect, as those of the release before, are not counted.
    """
    asked = {
        where: tuple(n for n in names if any(n in r for r in rows.values()) or n in NAMED_SUBJECTS)
        for where, names in KNOWN.table.asked.items()
    }
    known = Table(rows, asked)
    made = absorb(known, KNOWN.register, held)
    told = Counter[str]()
    for each in held:
        place, name = place_of(each.key), each.key.subject
        before = known.expected(place, known.stands_for(name))
        proposed, right = made.expected(place, name), KNOWN.table.expected(place, name)
        for seen, entry in right.items():
            if seen[0] == UNSUPPORTED or seen not in proposed or seen in before:
                continue
            named = proposed[seen].defect.removeprefix(UNKNOWN)
            outright = named in KNOWN.register.by_id
            told["right" if named == entry.defect else "wrong" if outright else "ambiguous"] += 1
    return told


def assert_named(told: Counter[str], what: str) -> None:
    everything = told.total()
    print(f"held out {what}: {dict(told)} of {everything}")
    assert everything > 100
    assert told["right"] / everything >= 0.80
    assert told["wrong"] / everything <= 0.03


def judged(published: Published) -> list[CellRecord]:
    return [each for each in published.records.values() if not each.hypothetical]


def test_failures_of_held_out_models_are_named_by_what_is_known_of_the_others(published):
    """Each model once: a tenth of them is withheld at a time, whatever case or lane has it."""
    models = sorted({_model(each.key.case) for each in published.plan})
    told = Counter[str]()
    for fold in range(FOLDS):
        held = set(models[fold::FOLDS])
        rows = {e: n for e, n in KNOWN.table.entries.items() if _model(e.place.case) not in held}
        told += proposals(rows, [r for r in judged(published) if _model(r.key.case) in held])
    assert_named(told, "models")


def test_failures_that_are_new_in_a_release_are_named_by_what_is_known_of_earlier_ones(published):
    """Each release once, with nothing known of it or of a later one."""
    told = Counter[str]()
    for at, release in enumerate(KNOWN.table.releases):
        later = frozenset(KNOWN.table.releases[at:])
        rows = {e: n - later for e, n in KNOWN.table.entries.items() if n - later}
        told += proposals(rows, [r for r in judged(published) if r.key.subject == release])
    assert_named(told, "releases")


def test_a_candidate_that_brings_back_what_was_fixed_is_told_by_the_defect():
    *_, newest = releases = KNOWN.table.releases
    told = Counter[str]()
    for entry, names in KNOWN.table.entries.items():
        defect = KNOWN.register.by_id.get(entry.defect)
        shown = names & set(releases) and not entry.removed
        if defect is not None and shown and not defect.alive_in(newest):
            found = due_to(
                entry.place, entry.fact, "file:1a", KNOWN.table, KNOWN.register, like=newest
            )
            told["right" if found == (defect,) else "wrong" if len(found) == 1 else "several"] += 1
    print(f"brought back: {dict(told)}")
    assert told["wrong"] == 0
    assert told["right"] / told.total() >= 0.95


def _model(case: str) -> str:
    return case.partition("@")[0].removeprefix("recorded_")


_ALL_STANDINGS = """
from harness.register.expected import read_expectations
from harness.register.standing import Standings
known = read_expectations()
standings = Standings(known.register, known.table)
for defect in known.register.defects:
    for release in standings.releases:
        print(standings.of(defect.id, release))
"""


def test_what_is_told_of_a_defect_does_not_hang_on_how_python_seeds_its_hashes():
    told = {
        subprocess.check_output(
            [sys.executable, "-c", _ALL_STANDINGS], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    }
    assert len(told) == 1
