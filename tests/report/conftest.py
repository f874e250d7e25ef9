"""A synthetic run with realistic contents, small enough to count by hand; every oracle fails.

Eight families of one case each (`case_<family>`), three releases by legacy and export, two
built-ins by export, torch by direct and plain. 2.10.0 reaches export by no user call.
"""

import dataclasses
import functools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

from harness.gate.qualify import Qualification, qualify
from harness.gate.reach import observed_reach
from harness.report.frames.frames import cell_frame, verdict_frame
from harness.report.model import ReportModel
from harness.report.pages.report_page import Drawn, page
from harness.report.reported_run import Cause, FindingView, ReportedRun, ShownBy
from harness.report.sections.causes import CAUSES, Causes, LiveCause
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    SubjectSpec,
    Verdict,
    not_applicable,
    passed,
)
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState, Outcome, Stage, SubjectKind
from tests.record_builders import defect

FAMILIES = (
    "multi_output_engines",
    "relu_fallbacks",
    "nested_getitems",
    "name_collisions",
    "shared_values",
    "parameters",
    "dynamic_dims",
    "architectures",
)
SYMPTOMS = {
    Oracle.VALUES: (Symptom.WRONG_VALUES, Stage.RUN),
    Oracle.WIRING: (Symptom.WRONG_WIRING, Stage.INLINE_FALLBACKS),
    Oracle.COMPLETION: (Symptom.ERROR, Stage.INLINE_FALLBACKS),
    Oracle.STRUCTURE: (Symptom.WRONG_STRUCTURE, Stage.EXPORT),
    Oracle.SIGNATURE: (Symptom.WRONG_SIGNATURE, Stage.LOAD),
    Oracle.STATE: (Symptom.LOST_STATE, Stage.LOAD),
    Oracle.METADATA: (Symptom.WRONG_METADATA, Stage.INLINE_ENGINES),
    Oracle.UNFLATTEN: (Symptom.NOT_UNFLATTENABLE, Stage.LOAD),
    Oracle.DETERMINISM: (Symptom.NONDETERMINISTIC, Stage.SAVE),
}
GREEN = "Green: no unknown failure"
"""The console's first line of the full run as it is."""

ON_CPU = "On CPU evidence; no GPU has run it."
"""What stands below its decision."""

ASIDE = "The gate is green: every failure is a known defect; whether to ship is answered above."
"""A green gate, as it stands beside the counts of a page that begins with a decision."""

DEFECTS = "defects: 2.14.0 has 2 known ones (2 interface)"
"""The line below it."""

PLANTED = "<script>alert(1)</script> | `x` *y* [z](w)"
"""A message that would break out of HTML, of a markdown table and of a code span."""

NAME_MATCHING = {
    "multi_output_engines": {Oracle.VALUES: "outputs differ on 3 of 3 inputs"},
    "name_collisions": {Oracle.WIRING: "output 0 reads engine 5 instead of engine 0"},
    "shared_values": {Oracle.COMPLETION: "AssertionError: "},
    "nested_getitems": {
        Oracle.COMPLETION: "RuntimeError: Argument 'getitem' of Node 'relu' was "
        "used before it has been defined"
    },
    "parameters": {Oracle.STRUCTURE: "duplicate argument 'weight' in function definition"},
}
LIVE = {
    "relu_fallbacks": {Oracle.METADATA: "meta['val'] is a list where a tensor is computed"},
    "dynamic_dims": {Oracle.SIGNATURE: PLANTED},
}
FAILURES: Mapping[str, Mapping[str, Mapping[Oracle, str]]] = {
    "2.10.0": NAME_MATCHING | LIVE,
    "2.13.0": NAME_MATCHING | {"relu_fallbacks": LIVE["relu_fallbacks"]},
    "2.14.0": LIVE,
    "name-matching": NAME_MATCHING,
    "positional": {},
    "torch": {"architectures": {Oracle.METADATA: "strides differ from eager"}},
}
"""What fails, by subject and family, on every route of the subject."""

SECONDS = {
    "inline-engines": 0.001,
    "inline-fallbacks": 0.002,
    "clean": 0.0005,
    "export": 0.5,
    "save": 0.06,
    "load": 0.1,
}


@dataclass(frozen=True)
class Known:
    """A defect by what it says and where; `view` finds the cells of a run that show it."""

    id: str
    title: str
    upstream: str
    oracle: str
    label: str
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    routes: tuple[str, ...]

    def view(self, records: Sequence[CellRecord]) -> Cause:
        shown = tuple(
            ShownBy(record.key, verdict.graded.value, self.oracle, self.label, verdict.message)
            for record in records
            if not record.hypothetical and self._names(record.key)
            for verdict in record.failures
            if (verdict.oracle, verdict.label) == (self.oracle, self.label)
        )
        upstream = (self.upstream,) if self.upstream else ()
        known = defect(self.id, title=self.title, upstream=upstream, minimal_case=self.cases[0])
        return Cause(dataclasses.replace(known, why="why", where=("f (file.py)",)), shown)

    def _names(self, key: CellKey) -> bool:
        return key.case in self.cases and key.subject in self.subjects and key.route in self.routes


@dataclass
class Run:
    """What a `ReportedRun` is made of, to be changed by a test before it is built."""

    plan: list[CellKey] = field(default_factory=list)
    records: list[CellRecord] = field(default_factory=list)
    cases: list[CaseInfo] = field(default_factory=list)
    subjects: list[SubjectSpec] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)
    findings: list[FindingView] = field(default_factory=list)
    causes: list[Known] = field(default_factory=list)
    good_news: list[FindingView] = field(default_factory=list)
    defects: list[str] = field(default_factory=lambda: [DEFECTS])
    gate: str = "green"
    provenance: dict[str, Any] = field(default_factory=dict)
    name: str = "20250102-030405"

    def add(
        self,
        key: CellKey,
        failures: Mapping[Oracle, str],
        *,
        hypothetical: bool = False,
        given_class: str | None = None,
        seconds: Mapping[str, float] | None = None,
        steps: int | None = None,
    ) -> CellRecord:
        """Plan a cell, and let it end with these failures."""
        record = CellRecord(
            key=key,
            state=CellState.ENDED,
            verdicts=verdicts(failures),
            hypothetical=hypothetical,
            seconds=seconds_of(key, failures) if seconds is None else seconds,
            archive_bytes=None if Oracle.COMPLETION in failures else 1_000_000,
            steps=2 * size(key) if steps is None else steps,
        )
        self.plan.append(key)
        self.records.append(record)
        self.classes[key.cell_id] = given_class or ("expected_failure" if failures else "ok")
        return record

    def unsupported(self, reason: str) -> None:
        """Turn every cell into one that could not be asked."""
        self.records = [
            CellRecord(record.key, CellState.UNSUPPORTED, reason=reason) for record in self.records
        ]
        self.classes = {record.key.cell_id: "unsupported" for record in self.records}

    @property
    def summary(self) -> dict[str, Any]:
        names = ("ok", "expected_failure", "unexpected_failure", "unexpected_pass", "unsupported")
        given = [self.classes.get(key.cell_id, "missing") for key in self.plan]
        counts = {name: given.count(name) for name in (*names, "missing")}
        cells = {"planned": len(self.plan), "ended": len(self.records), **counts}
        return {
            "schema": 1,
            "state": "complete",
            "gate": self.gate,
            "cells": cells,
            "inliners": [
                {
                    "subject": spec.subject,
                    "lane": lane,
                    "builder": builder,
                    "environment": environment,
                    "torch": {
                        "pinned": spec.torch_pinned,
                        "running": environment.removeprefix("torch-").replace("pinned", "2.13.0"),
                    },
                    "tensorrt": {
                        "pinned": spec.tensorrt_pinned,
                        "running": builder.strip(string.ascii_letters + "-") or None,
                    },
                    "environment_bytes": None if environment == "pinned" else 1_500_000_000,
                }
                for spec in self.subjects
                for lane, builder, environment in dict.fromkeys(
                    (key.lane, key.builder, key.environment)
                    for key in self.plan
                    if key.subject == spec.subject
                )
            ],
            "seconds": {"wall": 41.7},
        }

    def reported(self, **changes: Any) -> ReportedRun:
        """The run as it is now, as the sections see it, with these fields changed."""
        given: dict[str, Any] = {
            "name": self.name,
            "plan": list(self.plan),
            "records": list(self.records),
            "cases": list(self.cases),
            "subjects": list(self.subjects),
            "gate": self.gate,
            "classes": dict(self.classes),
            "findings": list(self.findings),
            "causes": [known.view(self.records) for known in self.causes],
            "summary": self.summary,
            "provenance": self.provenance,
            "good_news": list(self.good_news),
            "defects": list(self.defects),
            "upgrades": self._upgrades(),
        }
        return ReportedRun(**given | changes)

    def _upgrades(self) -> list[Qualification]:
        specs = {spec.subject: spec for spec in self.subjects}
        pair = [specs[name] for name in ("2.13.0", "2.14.0") if name in specs]
        if len(pair) < 2:
            return []
        reach_of = observed_reach(self.cases, {}, ())
        q = qualify(self.records, self.cases, *pair, reach_of=reach_of)
        return [q] if q.compared else []

    def model(self) -> ReportModel:
        return ReportModel(self.reported())


@functools.cache
def _first_cause() -> LiveCause:
    return full_run().model()[CAUSES].live[0]


def cause(id: str = "some-cause", harm: str = "interface", **changes: Any) -> LiveCause:
    """A cause of the full run's newest release, with another id and harm and other changes."""
    first = _first_cause()
    entries = (dataclasses.replace(first.entries[0], harm=harm),)
    given = {"defect": defect(id), "harm": harm, "entries": entries}
    return dataclasses.replace(first, **given | changes)


def model_with(*live: LiveCause) -> ReportModel:
    """The full run with these causes in place of its own."""
    views = {CAUSES.name: Causes("2.14.0", live, ())}
    return ReportModel(full_run().reported(views=views))


def undrawn_page(model: ReportModel) -> str:
    """The page with empty plots, which take most of its time."""
    return page(model, Drawn("<svg />", "<svg />"))


def verdicts(failures: Mapping[Oracle, str]) -> tuple[Verdict, ...]:
    """One verdict an oracle; what stands behind a cell that broke is not asked."""

    def of(oracle: Oracle) -> Verdict:
        if oracle in failures:
            symptom, stage = SYMPTOMS[oracle]
            message = failures[oracle]
            return Verdict(oracle, Outcome.FAILED, symptom, stage, message, "node relu_3\n")
        if Oracle.COMPLETION in failures:
            return not_applicable(oracle, "the cell broke at inline-fallbacks")
        return passed(oracle)

    return tuple(of(oracle) for oracle in Oracle)


def size(key: CellKey) -> int:
    """1 for the case of the first family, 8 for that of the eighth."""
    return FAMILIES.index(key.case.removeprefix("case_")) + 1


def seconds_of(key: CellKey, failures: Mapping[Oracle, str]) -> dict[str, float]:
    """Times of the first family once, of the eighth eight times over; none behind a break."""
    scale = size(key)
    stages = dict(SECONDS)
    if key.route == "legacy":
        stages["export"] = 0.008
    if key.subject in ("2.10.0", "2.13.0", "name-matching"):
        stages["inline-fallbacks"] = 0.004
    if key.subject == "torch":
        del stages["inline-engines"], stages["inline-fallbacks"], stages["clean"], stages["load"]
    if Oracle.COMPLETION in failures:
        stages = {name: stages[name] for name in ("inline-engines", "inline-fallbacks")}
    return {name: value * scale for name, value in stages.items()}


def subject(name: str, kind: SubjectKind, *routes: str, **more: Any) -> SubjectSpec:
    return SubjectSpec(subject=name, kind=kind, routes=routes, **more)


def release(name: str, torch: str, tensorrt: str, letter: str) -> SubjectSpec:
    return subject(
        name,
        SubjectKind.RELEASE,
        "legacy",
        "export",
        hypothetical_routes=("export",) if name == "2.10.0" else (),
        release=name,
        wheel_sha256=letter * 64,
        inliner_id=letter * 64,
        torch_pinned=torch,
        tensorrt_pinned=tensorrt,
    )


def full_run() -> Run:
    """Ten cells a case (six of releases, two of built-ins, two of torch): 80, 8 of them apart."""
    run = Run(
        cases=[
            CaseInfo(f"case_{family}", family, "exported", f"a defect of {family}")
            for family in FAMILIES
        ],
        # Out of order on purpose: the report sorts.
        subjects=[
            subject("torch", SubjectKind.TORCH, "direct", "plain"),
            subject("positional", SubjectKind.BUILTIN, "export"),
            subject("name-matching", SubjectKind.BUILTIN, "export"),
            release("2.14.0", "2.14", "11.1", "b"),
            release("2.10.0", "2.10", "10.14.1", "e"),
            release("2.13.0", "2.13", "11.0", "a"),
        ],
        causes=[
            Known(
                "name-matching",
                "Placeholders are wired to parent nodes by name, and names are not stable.",
                "pytorch/TensorRT#4446",
                "values",
                "wrong-values@run",
                ("case_multi_output_engines",),
                ("2.10.0", "2.13.0", "name-matching"),
                ("legacy", "export"),
            ),
            Known(
                "engine-getitem-metadata",
                "The getitem of a one-output engine keeps the engine's list as its metadata.",
                "",
                "metadata",
                "wrong-metadata@inline-engines",
                ("case_relu_fallbacks",),
                ("2.10.0", "2.13.0", "2.14.0"),
                ("legacy", "export"),
            ),
            Known(
                "keyword-order",
                "Keyword inputs come back in the order of the graph.",
                "pytorch/TensorRT#4079",
                "signature",
                "wrong-signature@load",
                ("case_dynamic_dims", "case_dynamic_dims_large"),
                ("2.10.0", "2.14.0"),
                ("legacy",),
            ),
        ],
        provenance={
            "schema": 1,
            "harness": {"commit": "0123abcd", "dirty": False},
            "torch": {"version": "2.13.0", "build": "cpu"},
            "python": "3.11.4",
            "cpu": "two cores",
            "gpu": None,
            "command": ["python", "-m", "harness", "run"],
            "pip_freeze": [f"package-{number}=={number}" for number in range(12)],
        },
    )
    for spec in run.subjects:
        for route in spec.routes:
            for case in run.cases:
                key = CellKey(case.name, "nonstrict", spec.subject, Route(route))
                hypothetical = route in spec.hypothetical_routes
                failures = FAILURES[spec.subject].get(case.family, {})
                run.add(key, failures, hypothetical=hypothetical)
    return run


def share_an_inliner(run: Run) -> Run:
    """2.10.0 and 2.13.0 with one inliner, and so with one fate: by legacy alone, copied over."""
    run.subjects = [
        dataclasses.replace(spec, inliner_id="a" * 64, routes=("legacy",), hypothetical_routes=())
        if spec.subject in ("2.10.0", "2.13.0")
        else spec
        for spec in run.subjects
    ]
    run.plan = [key for key in run.plan if (key.subject, key.route) not in _LEFT_OUT]
    of = {record.key: record for record in run.records}
    run.records = [
        dataclasses.replace(
            of[dataclasses.replace(key, subject="2.10.0")], key=key, measured_as="2.10.0"
        )
        if key.subject == "2.13.0"
        else of[key]
        for key in run.plan
    ]
    for key in run.plan:
        if key.subject == "2.13.0":
            original = dataclasses.replace(key, subject="2.10.0")
            run.classes[key.cell_id] = run.classes[original.cell_id]
    return run


_LEFT_OUT = {("2.10.0", "export"), ("2.13.0", "export")}


def planted_red(run: Run) -> Run:
    """A wire broken in 2.14.0: one unexpected failure, with its finding."""
    key = CellKey("case_name_collisions", "nonstrict", "2.14.0", Route.LEGACY)
    at = next(index for index, record in enumerate(run.records) if record.key == key)
    run.records[at] = dataclasses.replace(
        run.records[at], verdicts=verdicts({Oracle.VALUES: PLANTED})
    )
    run.classes[key.cell_id] = "unexpected_failure"
    run.gate = "red"
    run.findings = [
        FindingView(
            key.case,
            key.subject,
            key.route,
            "silent",
            "wrong-values@run",
            f"not expected: {PLANTED}",
            f"python -m harness explain {key.case} --subject {key.subject}",
        )
    ]
    return run


def change(
    run: Run, subject: str, family: str, failures: Mapping[Oracle, str], route: str = ""
) -> None:
    """Let the cells of a subject in a family, by one route or by all, end with other failures."""
    for at, record in enumerate(run.records):
        key = record.key
        if (key.subject, key.case) == (subject, f"case_{family}") and route in ("", key.route):
            run.records[at] = dataclasses.replace(record, verdicts=verdicts(failures))


def cells_of(run: Run) -> pd.DataFrame:
    return cell_frame(run.records, run.cases, run.subjects, run.classes, run.plan)


def verdicts_of(run: Run) -> pd.DataFrame:
    return verdict_frame(run.records, run.cases, run.subjects)


@pytest.fixture
def run() -> Run:
    """The full run, green, to be changed at will."""
    return full_run()


@pytest.fixture(scope="session")
def model() -> ReportModel:
    """The model of the full run as it is."""
    return full_run().model()


@pytest.fixture
def red() -> Run:
    return planted_red(full_run())


@pytest.fixture
def planted() -> str:
    return PLANTED
