"""A run as it lies on the disk, judged: its records with everything that explains them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

from harness.base.errors import SurroundingsError, UsageError
from harness.base.words import listed, plural
from harness.catalogue.releases import Catalogue, ordered_subjects
from harness.expectations import EXPECTATIONS
from harness.gate.attribution import Attributed, attributed
from harness.gate.breakage import Breakage, breakages
from harness.gate.case_matrix import CaseMatrix, case_matrix
from harness.gate.defect_table import DefectTable, defect_table
from harness.gate.findings import Gate, GateReport
from harness.gate.judge import judge
from harness.gate.known import Known, known_in
from harness.gate.own_torch import OwnTorch, own_torches
from harness.gate.qualify import Qualification, qualify
from harness.gate.reach import reach_in
from harness.gate.shown_defects import shown_defects
from harness.gate.summary import summarise
from harness.register.expected import Expectations, read_expectations
from harness.register.faults import Fault, faults_of
from harness.runs.candidates import candidates_of
from harness.runs.commands import Places
from harness.runs.costs import Cost
from harness.runs.kept_cases import KeptCases, kept_cases
from harness.runs.plan import PlannedCell, judged_cells
from harness.runs.provenance import Provenance
from harness.runs.run_folder import RunFolder, RunState
from harness.subjects.choosing import around, likes
from harness.subjects.specs import known_subjects
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach, SubjectKind


@dataclass(frozen=True)
class JudgedRun:
    """A run's records with everything that explains them.

    ``cases`` are those that were planned, of ``all_cases`` of the corpus. ``scope`` says what alone
    was asked, where that is not every case of both lanes that an ordinary run asks.
    """

    folder: RunFolder
    report: GateReport
    plan: tuple[PlannedCell, ...]
    records: dict[str, CellRecord]
    cases: tuple[CaseInfo, ...]
    subjects: tuple[SubjectSpec, ...]
    expectations: Expectations
    provenance: Provenance
    catalogue: Catalogue
    all_cases: tuple[CaseInfo, ...]
    scope: str = ""
    broken: dict[str, str] = field(default_factory=dict)

    @functools.cached_property
    def shown(self) -> tuple[Attributed, ...]:
        """Every failure that is judged, with its defect."""
        known, near = self.expectations, around(self.subjects)
        return tuple(attributed(self.records.values(), known.table, known.register, near))

    @functools.cached_property
    def _defects(self) -> tuple[Known, DefectTable] | tuple[None, None]:
        if self.provenance.corpus:
            return None, None
        known = self.expectations
        if self.scope:
            known = known.met_by({(cell.key.lane, cell.key.case) for cell in self.plan})
        return known_defects(self.subjects, known, self.catalogue, self.all_cases)

    @property
    def known(self) -> Known | None:
        """What its newest release is known to have, as far as what was asked can meet it.

        None where no release is known or asked, or the cases are a user's own; `table` likewise.
        """
        return self._defects[0]

    @property
    def table(self) -> DefectTable | None:
        """Every known defect up to its newest release that what was asked can meet."""
        return self._defects[1]

    @functools.cached_property
    def own_cases(self) -> CaseMatrix | None:
        """A user's own cases by releases and candidates; None where a table speaks of them."""
        specs = ordered_subjects(self.subjects)
        releases = [spec.subject for spec in specs if spec.kind is SubjectKind.RELEASE]
        if not self.provenance.corpus or self.expectations.table.entries or not releases:
            return None
        own = {finding.key.cell_id for finding in self.report.findings if finding.torchs_own}
        names = [case.name for case in self.cases]
        titles = self.expectations.register.titles
        brought = [spec.subject for spec in specs if spec.kind is SubjectKind.FILE]
        return case_matrix(names, releases, self.records.values(), self.shown, own, titles, brought)

    @functools.cached_property
    def qualifications(self) -> tuple[Qualification, ...]:
        """Each candidate in the place of what it is held against, and a checkout in that of the
        newest release, too; else the two newest releases.

        Of two releases it is the newer one that is held against the other, if the run does not say.
        """
        specs = {spec.subject: spec for spec in self.subjects}
        partners = likes(self.subjects)
        pairs = [(like, name) for name, like in sorted(partners.items()) if like in specs]
        newest_release = _newest_release(self.subjects)
        based = [name for _, name in pairs if specs[name].held_against]
        pairs += [(newest_release, name) for name in based if newest_release is not None]
        if not partners:
            releases = [spec for spec in specs.values() if spec.kind is SubjectKind.RELEASE]
            newest = sorted((spec.subject for spec in releases), key=Version)[-2:]
            if self.provenance.baseline in newest:
                newest.sort(key=self.provenance.baseline.__ne__)
            pairs = [(newest[0], newest[1])] if len(newest) > 1 else []
        return tuple(
            qualify(
                self.records.values(),
                self.cases,
                specs[one],
                specs[other],
                self.shown,
                self.expectations.register,
                self.places,
                reach_in(self.cases, self.provenance.corpus, around(self.subjects)),
                self.scope,
            )
            for one, other in pairs
        )

    @property
    def upgrades(self) -> tuple[Qualification, ...]:
        """The upgrades of which both releases share a cell; each may have its own environment."""
        return tuple(q for q in self.qualifications if q.compared)

    @functools.cached_property
    def own_torches(self) -> tuple[OwnTorch, ...]:
        """Its releases that were asked with the torch that each pins, the newest first.

        Empty where no table says what the pinned environment does with the same cases.
        """
        if not self.expectations.table.entries:
            return ()
        return own_torches(
            self.records.values(),
            self.subjects,
            self.expectations.table,
            self.shown,
            reach_in(self.cases, self.provenance.corpus, around(self.subjects)),
        )

    @functools.cached_property
    def breakages(self) -> tuple[Breakage, ...]:
        """What its candidates break, by cause, the worst first."""
        files = {spec.subject for spec in self.subjects if spec.kind is SubjectKind.FILE}
        pieces = {each.key.case: each.steps for each in self.records.values() if each.steps}
        return breakages(self.report.findings, files, pieces)

    @property
    def candidates(self) -> list[SubjectSpec]:
        """Its candidates with the files that it kept."""
        return candidates_of(self.folder)

    @property
    def kept(self) -> KeptCases | None:
        """A user's own cases as it asked them; he may edit them at any time."""
        return kept_cases(self.folder)

    @property
    def case_places(self) -> tuple[str, ...]:
        """Where a user's own cases can be run as they were; raises as `KeptCases.runnable`."""
        kept = self.kept
        return self.provenance.corpus if kept is None else kept.runnable()

    @functools.cached_property
    def places(self) -> Places:
        """What printed commands need to find this run from the current folder."""
        declared = {case.name: case.declared_at for case in self.cases if case.declared_at}
        return dataclasses.replace(self.folder.places, declared=declared)


@dataclass(frozen=True)
class Expected:
    """The expectations, and the corpus and releases that they may name."""

    expectations: Expectations
    corpus: Corpus
    catalogue: Catalogue


def reopen(
    which: str,
    out: Path,
    toolchain: Toolchain,
    catalogue: Catalogue,
    folder_of_expectations: Path = EXPECTATIONS,
    *,
    undecided: bool = False,
) -> JudgedRun:
    """A run as it lies on the disk, judged by today's expectations."""
    folder = RunFolder.open(which, out)
    corpus = _corpus_of(folder, toolchain)
    known = read_expectations(folder_of_expectations, corpus.places, undecided=undecided)
    return judged_run(folder, Expected(known, corpus, catalogue))


def _corpus_of(folder: RunFolder, toolchain: Toolchain) -> Corpus:
    """The cases of a run: a user's own as they were when it began."""
    provenance, kept = folder.provenance(), kept_cases(folder)
    if kept is None:
        return read_corpus(toolchain.python, provenance.corpus, toolchain.cache)
    if kept.words:
        toolchain.notify(kept.words)
    return Corpus(kept.cases, provenance.corpus_digest, provenance.corpus)


def judged_run(
    folder: RunFolder, expected: Expected, records: dict[str, CellRecord] | None = None
) -> JudgedRun:
    """A folder's records with the verdict on them.

    Args:
        records: those of the folder, where they are at hand.
    """
    provenance, plan = folder.provenance(), folder.plan()
    records = folder.records() if records is None else records
    known, cases = expected.expectations, expected.corpus.cases
    known = with_lacking(known, folder)
    gone = sorted({cell.key.case for cell in plan} - set(expected.corpus.names))
    if gone:
        raise UsageError(
            f"{folder.run_id} has cases that this corpus does not: {listed(gone)}; read it "
            "with the harness commit that is named in its run.json"
        )
    planned = {cell.key.case for cell in plan}
    chosen = tuple(case for case in cases if case.name in planned)
    subjects = provenance.subjects
    report = judge(
        plan,
        records,
        known.table,
        subjects,
        likes(subjects),
        faults_in(expected),
        known.register,
        without_table=bool(provenance.corpus) and not known.table.entries,
    )
    return JudgedRun(
        folder,
        report,
        plan,
        records,
        chosen,
        subjects,
        known,
        provenance=provenance,
        catalogue=expected.catalogue,
        all_cases=cases,
        scope=_in_budget(provenance, plan)
        or (f"your {plural(len(chosen), 'case')}" if provenance.corpus else scope_of(plan, cases)),
    )


def with_lacking(known: Expectations, folder: RunFolder) -> Expectations:
    """The expectations with what the models of a run surely have not, where they are a user's."""
    table = dataclasses.replace(known.table, lacking=folder.lacking())
    return dataclasses.replace(known, table=table) if table.lacking else known


_known_faults: dict[tuple[object, ...], tuple[Fault, ...]] = {}


def faults_in(expected: Expected) -> tuple[Fault, ...]:
    """What contradicts itself in the expectations.

    It takes half a second, and one process may judge many runs by the same: of what has not changed
    it is known.
    """
    known, cases = expected.expectations, expected.corpus.cases
    table, subjects = known.table, known_subjects(expected.catalogue)
    if not table.entries:
        return ()
    rows, asked = frozenset(table.entries.items()), frozenset(table.asked.items())
    said = known.register, rows, asked, table.without_rows, cases, subjects
    if said not in _known_faults:
        _known_faults.clear()
        judged = judged_cells(cases, subjects)
        _known_faults[said] = faults_of(known.register, table, judged, known.standings)
    return _known_faults[said]


def _in_budget(provenance: Provenance, plan: Sequence[PlannedCell]) -> str:
    """How much was asked by a run whose time was over; empty for one that asked all."""
    if not provenance.ran_out(plan):
        return ""
    asked = f"{len(plan):,} of {provenance.budget_cells:,} cells"
    return f"{asked}, those that find most, in a budget of {provenance.budget_s:g} s"


def scope_of(plan: Iterable[PlannedCell], cases: Iterable[CaseInfo]) -> str:
    """The lanes and how many of their cases were planned, if that is less than in an ordinary run.

    The engine lane needs a GPU, and is no part of one.
    """
    planned: dict[Lane, set[str]] = {}
    for cell in plan:
        planned.setdefault(cell.key.lane, set()).add(cell.key.case)
    limits = []
    for lane in (Lane.GRAPH, Lane.PACKAGE):
        ordinary = {case.name for case in cases if lane in case.lanes and lane not in case.full}
        asked = planned.get(lane, set())
        if ordinary - asked and asked:
            limits.append(f"{len(asked)} of {len(ordinary)} cases in the {lane} lane")
        elif asked and ordinary and not planned.keys() >= {Lane.GRAPH, Lane.PACKAGE}:
            limits.append(f"the {lane} lane")
    return ", ".join(limits)


def known_defects(
    subjects: Iterable[SubjectSpec],
    known: Expectations,
    catalogue: Catalogue,
    cases: Iterable[CaseInfo],
) -> tuple[Known, DefectTable] | tuple[None, None]:
    """What the newest release of some subjects is known to have, and every known defect up to it.

    Args:
        cases: those whose splits the lock knows; of a row of any other case the split is nobody's.
    """
    newest = _newest_release(subjects)
    if newest is None or not known.table.releases:
        return None, None
    by_name = {case.name: case for case in cases}
    observed = reach_in(by_name.values(), ())

    def reach_of(key: CellKey) -> Reach:
        return observed(key) if key.case in by_name else Reach.HANDMADE

    standings = known.standings
    counted = known_in(newest, standings, reach_of)
    inliners = {release.version: release.inliner_id for release in catalogue.releases}
    table = defect_table(standings, counted.release, inliners, reach_of, by_name, catalogue.torches)
    return counted, table


def _newest_release(subjects: Iterable[SubjectSpec]) -> str | None:
    """The newest of these that is a release."""
    releases = [spec.subject for spec in subjects if spec.kind is SubjectKind.RELEASE]
    return max(releases, key=Version, default=None)


def raise_if_nothing_ran(judged: JudgedRun) -> None:
    """A gate that failed because the harness broke says so with the first traceback."""
    if judged.report.gate is Gate.FAILED and judged.broken:
        cell, text = next(iter(judged.broken.items()))
        raise SurroundingsError(
            f"{len(judged.broken)} cells have no verdict because the harness itself failed; "
            f"first in {cell}:\n{text}"
        )


def summary_of(
    judged: JudgedRun,
    state: RunState,
    *,
    wall_s: float | None,
    spent: Cost | None = None,
    controller_peak_bytes: int | None = None,
) -> dict[str, Any]:
    """The content of summary.json, as `summarise` says."""
    return summarise(
        state=state.value,
        report=judged.report,
        plan=judged.plan,
        records=judged.records,
        cases=judged.cases,
        provenance=judged.provenance,
        defects=shown_defects(
            judged.shown,
            judged.expectations.register,
            judged.subjects,
            reach_in(judged.cases, judged.provenance.corpus, around(judged.subjects)),
        ),
        wall_s=wall_s,
        spent=spent,
        controller_peak_bytes=controller_peak_bytes,
    )
