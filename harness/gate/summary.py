"""``summary.json``: a run in defects and in numbers, for scripts. The fields are fixed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.gate.findings import CellClass, GateReport
from harness.gate.shown_defects import DefectShown
from harness.runs.costs import Cost
from harness.runs.plan import PlannedCell
from harness.runs.provenance import Provenance, environment_bytes_in, tensorrt_in, torch_in
from harness.wire.record_json import SCHEMA
from harness.wire.records import CaseInfo, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import COMPILE_PARTS, Outcome, Stage

#: What a worker does once for all cells of a case, so that each of their records may repeat it.
_SHARED_STAGES = (Stage.CAPTURE, Stage.SPLIT, Stage.COMPILE, *COMPILE_PARTS)


def summarise(
    *,
    state: str,
    report: GateReport,
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    cases: Iterable[CaseInfo],
    provenance: Provenance,
    defects: Sequence[DefectShown],
    wall_s: float | None,
    spent: Cost | None,
    controller_peak_bytes: int | None,
) -> dict[str, Any]:
    """The summary of a run, as JSON data.

    Args:
        report: the judgement of this plan and these records.
        records: the ended cells by ``cell_id``.
        cases: at least those of the plan.
        defects: those that the run shows, the worst first.
        wall_s: seconds that the run took; what came before a resume may be included. None: unknown.
        spent: what the workers told of their time and memory, None where they told nothing.
        controller_peak_bytes: the most resident memory that the controller has held, None if that
            was another process.
    """
    family_of = {case.name: case.family for case in cases}
    planned_cases = {cell.key.case for cell in plan}
    return {
        "schema": SCHEMA,
        "state": str(state),
        "gate": report.gate,
        "defects": [
            dataclasses.asdict(defect) | {"calls": list(defect.calls)} for defect in defects
        ],
        "cells": {
            "planned": len(plan),
            **{cell_class: report.count(cell_class) for cell_class in reversed(CellClass)},
            "ended": sum(cell.key.cell_id in records for cell in plan),
        },
        **kept_in(plan, records),
        "cases": len(planned_cases),
        "families": len({family_of[name] for name in planned_cases}),
        "corpus_digest": provenance.corpus_digest,
        "inliners": _inliners(plan, records, provenance),
        "seconds": {
            "wall": wall_s,
            "workers": spent and spent.worker_s,
            "in_stages": spent and spent.stages_s,
            "stage_share": spent and spent.stage_share,
            **_stage_seconds(plan, records),
        },
        "memory": {
            "workers_peak_bytes": spent and spent.workers_peak_bytes,
            "controller_peak_bytes": controller_peak_bytes,
        },
    }


def kept_in(plan: Iterable[PlannedCell], records: Mapping[str, CellRecord]) -> dict[str, Any]:
    """How many cells this run took from earlier ones, by run, most first; no field if none."""
    ended = (records.get(cell.key.cell_id) for cell in plan)
    runs = Counter(record.kept_from for record in ended if record and record.kept_from)
    kept = {"cells": runs.total(), "runs": dict(runs.most_common()), "asked_again": 0}
    return {"kept": kept} if runs else {}


def _inliners(
    plan: Sequence[PlannedCell], records: Mapping[str, CellRecord], provenance: Provenance
) -> list[dict[str, Any]]:
    """A row for each subject, lane, route, builder, executor and environment, in plan order."""
    specs = {spec.subject: spec for spec in provenance.subjects}
    rows: dict[tuple[str, ...], list[PlannedCell]] = {}
    for cell in plan:
        key = cell.key
        row = (key.subject, key.lane, key.route, key.builder, key.executor, key.environment)
        rows.setdefault(row, []).append(cell)
    return [
        _row(cells, records, specs[cells[0].key.subject], provenance) for cells in rows.values()
    ]


def _row(
    cells: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    spec: SubjectSpec,
    provenance: Provenance,
) -> dict[str, Any]:
    first = cells[0]
    labels = Counter(
        records[cell.key.cell_id].label if cell.key.cell_id in records else CellClass.MISSING
        for cell in cells
    )
    return {
        "subject": spec.subject,
        "lane": first.key.lane,
        "route": first.key.route,
        "builder": first.key.builder,
        "executor": first.key.executor,
        "environment": first.key.environment,
        "release": spec.release,
        "inliner_id": spec.inliner_id,
        "measured_as": first.measured_as,
        "torch": {
            "pinned": spec.torch_pinned,
            "running": torch_in(provenance, first.key.environment),
        },
        # Of the graph lane none; of a package what builds, and only if the builder is real.
        "tensorrt": {"pinned": spec.tensorrt_pinned, "running": _tensorrt_of(first, provenance)},
        "environment_bytes": environment_bytes_in(
            provenance, first.key.environment, spec.subject, first.key.builder
        ),
        "hypothetical": first.hypothetical,
        "cells": len(cells),
        "ok": labels[Outcome.OK],
        "by_verdict": dict(sorted(labels.items())),
    }


def _tensorrt_of(cell: PlannedCell, provenance: Provenance) -> str | None:
    key = cell.key
    if key.lane == Lane.GRAPH:
        return None
    return tensorrt_in(provenance, key.environment, key.subject, key.builder)


def _stage_seconds(
    plan: Sequence[PlannedCell], records: Mapping[str, CellRecord]
) -> dict[str, float]:
    """Seconds of each stage as the records tell them; what shared stages took, once a case.

    Copied records count nothing. Of work that equal programs shared, each record tells the time, so
    these sums are more than was spent: `Cost` is not.
    """
    totals: dict[str, float] = dict.fromkeys(Stage, 0.0)
    shared: dict[tuple[str, ...], float] = {}
    for cell in plan:
        record = records.get(cell.key.cell_id)
        if record is None or not cell.executed:
            continue
        for stage, seconds in record.seconds.items():
            if stage in _SHARED_STAGES:
                # Every package captures and compiles by itself, and so does every environment.
                key = cell.key
                whose = key.subject if key.lane != Lane.GRAPH else ""
                where = (key.lane, key.builder, key.environment)
                once = (stage, key.case, key.capture, whose, *where)
                shared[once] = max(shared.get(once, 0.0), seconds)
            else:
                totals[stage] = totals.get(stage, 0.0) + seconds
    for (stage, *_), seconds in shared.items():
        totals[stage] += seconds
    return totals
