"""Short ways to make the records that the controller's tests talk about."""

from typing import Any

from harness.register.defects import Defect, Register, Sign
from harness.register.facts import Fact, Place
from harness.register.table import Entry, Table, asked_of
from harness.runs.plan import PlannedCell
from harness.runs.provenance import Provenance
from harness.wire.oracles import Oracle
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


def case(name: str, family: str = "family", origin: str = "exported") -> CaseInfo:
    return CaseInfo(name=name, family=family, origin=origin, catches="something")


def subject(name: str, *routes: str, **fields: Any) -> SubjectSpec:
    kind = fields.pop("kind", SubjectKind.RELEASE)
    release = name if kind is SubjectKind.RELEASE else None
    fields = {"release": release, "inliner_id": f"id of {name}", **fields}
    return SubjectSpec(name, kind, tuple(map(Route, routes or ("export",))), **fields)


def key(case_name: str = "a", name: str = "2.13.0", route: str = "export") -> CellKey:
    return CellKey(case_name, "nonstrict", name, Route(route))


def planned(cell: CellKey, hypothetical: bool = False, unsupported: str = "") -> PlannedCell:
    return PlannedCell(cell, hypothetical, cell.subject, unsupported)


def failed(oracle: Oracle, message: str = "boom", stage: Stage = Stage.RUN) -> Verdict:
    return Verdict(
        oracle,
        Outcome.FAILED,
        oracle.row.symptom,
        stage,
        message,
        evidence=f"evidence of {message}",
    )


def record(cell: CellKey, *verdicts: Verdict, **fields: Any) -> CellRecord:
    """An ended cell that passes every oracle that ``verdicts`` do not speak of."""
    said = {verdict.oracle: verdict for verdict in verdicts}
    every = tuple(said.get(oracle, passed(oracle)) for oracle in Oracle)
    fields = {"measured_as": cell.subject, **fields}
    return CellRecord(cell, CellState.ENDED, every, **fields)


def stopped(cell: CellKey, message: str = "boom", stage: Stage = Stage.CLEAN) -> CellRecord:
    """A cell that ended with an exception, so that no other oracle was asked."""
    unasked = [not_applicable(o, "no program") for o in Oracle if o is not Oracle.COMPLETION]
    return record(cell, failed(Oracle.COMPLETION, message, stage), *unasked)


def unsupported(cell: CellKey, reason: str = "no wheel", **fields: Any) -> CellRecord:
    fields = {"measured_as": cell.subject, **fields}
    return CellRecord(cell, CellState.UNSUPPORTED, reason=reason, **fields)


def by_id(*records: CellRecord) -> dict[str, CellRecord]:
    return {each.key.cell_id: each for each in records}


RELEASES = ("2.10.0", "2.13.0", "2.14.0")
Row = tuple[Entry, frozenset[str]]


def entry(oracle: Oracle | str = Oracle.VALUES, says: str = "boom", **given: Any) -> Row:
    """What expects ``failed(oracle)`` in the cell `key()`: an entry, and its subjects."""
    stage = given.pop("stage", Stage.RUN)
    named = isinstance(oracle, Oracle)
    fails = given.pop("fails", f"{oracle.row.symptom}@{stage}" if named else "")
    fact = Fact(str(oracle), fails, says, given.pop("harm", ""))
    subjects = frozenset(given.pop("subjects", ("2.13.0",)))
    defect, removed = given.pop("defect", "known"), given.pop("removed", False)
    fields = {"lane": "graph", "case": "a", "capture": "nonstrict", "route": "export", **given}
    return Entry(Place(**fields), fact, defect, removed), subjects


def table(*rows: Row, releases: tuple[str, ...] = RELEASES) -> Table:
    """A table of these rows, whose cells have all been asked of these releases."""
    entries: dict[Entry, frozenset[str]] = {}
    for each, subjects in rows:
        entries[each] = entries.get(each, frozenset()) | subjects
    routes = {*(asked_of(each.place) for each in entries), ("graph", "segment", "pinned", "export")}
    return Table(entries, dict.fromkeys(routes, releases))


def defect(name: str = "known", *signs: Sign, **fields: Any) -> Defect:
    """A defect that says ``boom`` by any oracle, unless signs of its own are given."""
    given: dict[str, Any] = {
        "title": f"It is {name}",
        "why": "because",
        "where": ("f (file.py)",),
        "blame": "inliner",
        "minimal_case": "a",
        "workaround": "none",
        "signs": signs or tuple(Sign(oracle.value, "boom") for oracle in Oracle),
    }
    return Defect(id=name, **{**given, **fields})


def register(*defects: Defect) -> Register:
    return Register(defects or (defect(),))


def provenance(*subjects: SubjectSpec, **fields: Any) -> Provenance:
    given: dict[str, Any] = {
        "run_id": "20260102T030405Z-abcdef",
        "started_at": "2026-01-02T03:04:05+00:00",
        "command_line": ("run", "-k", "a"),
        "seeds": (1, 2),
        "corpus_digest": "digest",
        "subjects": subjects,
        "harness_commit": "c0ffee",
        "harness_dirty": False,
        "torch_version": "2.13.0",
        "torch_build": None,
        "pip_freeze": ("torch==2.13.0",),
        "python": "CPython 3.11",
        "os": "an OS",
        "cpu_model": "a CPU",
        "cpu_cores": 2,
        "memory_bytes": 1,
        "clock_source": "a clock",
        "rig_digest": "sources",
    }
    return Provenance(**{**given, **fields})
