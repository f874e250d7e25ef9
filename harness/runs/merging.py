"""Runs of different environments and machines joined into one. Pure.

`merge` is commutative, associative and idempotent, because its result is a function of two sets:
the unmerged runs (`Source`), into which merged ones are taken apart again, and the cells. If
several runs have the same result for a cell, the most detailed record is kept. The order that
decides this does not depend on the order of the runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, cast

from harness.base.errors import UsageError
from harness.base.program import PROGRAM
from harness.base.words import plural
from harness.catalogue.releases import ordered_subjects
from harness.runs.plan import PlannedCell
from harness.runs.provenance import (
    Provenance,
    Source,
    joined_words,
    new_run_id,
    provenance_to_json,
    sources_of,
)
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Oracle
from harness.wire.record_json import SCHEMA, to_json
from harness.wire.records import CellKey, CellRecord, PackageSpec, SubjectSpec
from harness.wire.routes import Route

_NAMED: Final = 3  # cells in a message


@dataclass(frozen=True)
class Part:
    """A run to be merged, or the result of `merge`.

    ``records`` are the ended cells by ``cell_id``. Messages call the run by its ``name``.
    """

    name: str = field(compare=False)
    provenance: Provenance
    plan: tuple[PlannedCell, ...]
    records: Mapping[str, CellRecord]
    schema: int = SCHEMA


Cell = tuple[PlannedCell, CellRecord]


def merge(parts: Sequence[Part], *, allow_mismatch: bool = False) -> Part:
    """All cells of all parts, and the provenance of each.

    Args:
        allow_mismatch: merge even if corpora differ, or if an environment has two torch builds;
            ``mismatches`` of the provenance says so.
    """
    for part in parts:
        _refuse_unfinished(part)
    sources = _flattened(parts)
    mismatches = _mismatches(sources)
    if mismatches and not allow_mismatch:
        raise UsageError(
            f"cannot merge: {'; '.join(mismatches)}; --allow-mismatch merges them all the same, "
            "and the report says so"
        )
    subjects = _subjects(sources)
    cells = _agreed(parts)
    provenance = _joined(sources, subjects, mismatches)
    in_order = [(key.cell_id, *cells[key]) for key in sorted(cells)]
    return Part(
        name=provenance.run_id,
        provenance=provenance,
        plan=tuple(planned for _, planned, _ in in_order),
        records={cell_id: record for cell_id, _, record in in_order},
    )


def _refuse_unfinished(part: Part) -> None:
    if part.schema != SCHEMA:
        raise UsageError(
            f"cannot merge {part.name}: its schema is {part.schema}, and only runs of schema "
            f"{SCHEMA}, which this harness writes, are merged; run it anew"
        )
    if part.provenance.ran_out(part.plan):
        raise UsageError(f"cannot merge {part.name}: it had a budget and asked a part")
    missing = [cell.key for cell in part.plan if cell.key.cell_id not in part.records]
    if missing:
        raise UsageError(
            f"cannot merge {part.name}: {len(missing)} of its {len(part.plan)} cells have not "
            f"ended: {_some(missing)}; finish it with `{PROGRAM} run --resume {part.name}`"
        )


def _agreed(parts: Sequence[Part]) -> dict[CellKey, Cell]:
    """Every cell once, from the run with the most detailed record."""
    best_of: dict[CellKey, tuple[str, Cell]] = {}
    unlike: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        for planned in part.plan:
            cell = planned, part.records[planned.key.cell_id]
            other, known = best_of.setdefault(planned.key, (part.name, cell))
            if known is cell:  # as most are: shards have no cell in common
                continue
            if _said(known[1]) != _said(cell[1]):
                text = f"{_named(planned.key)}: {known[1].label} against {cell[1].label}"
                unlike.setdefault((other, part.name), []).append(text)
            if cell != known:
                best = min((other, known), (part.name, cell), key=lambda each: _rank(each[1]))
                best_of[planned.key] = best
    for (one, two), cells in unlike.items():
        raise UsageError(
            f"cannot merge {one} and {two}: they disagree in {plural(len(cells), 'cell')}: "
            f"{_first(cells)}; leave one of them out, or run both anew"
        )
    return {key: cell for key, (_, cell) in best_of.items()}


def _said(record: CellRecord) -> tuple[Any, ...]:
    """The part of a record that does not depend on the machine: no seconds, no evidence."""
    verdicts = [record.verdict(oracle) for oracle in Oracle]
    return record.state, *((v.label, v.message if v.failed else "") for v in verdicts)


def _rank(cell: Cell) -> tuple[Any, ...]:
    """A sort key for equal results of one cell, the most detailed record first."""
    planned, record = cell
    evidence = sum(len(verdict.evidence) for verdict in record.verdicts)
    text = json.dumps([to_json(record), to_json(planned)], sort_keys=True)
    return not planned.executed, -evidence, text


def _flattened(parts: Iterable[Part]) -> tuple[Source, ...]:
    """The runs that nobody merged, each once."""
    environments: dict[Provenance, set[str]] = {}
    for part in parts:
        for source in sources_of(part.provenance, part.plan):
            environments.setdefault(source.run, set()).update(source.environments)
    sources = [Source(tuple(sorted(names)), run) for run, names in environments.items()]
    return tuple(sorted(sources, key=lambda source: json.dumps(provenance_to_json(source.run))))


def _mismatches(sources: Sequence[Source]) -> tuple[str, ...]:
    """Sentences about properties that should agree among the sources and do not."""
    sentences = _unlike(
        "corpora", {source.run.run_id: source.run.corpus_digest for source in sources}
    )
    for environment in sorted({name for source in sources for name in source.environments}):
        torches = {
            source.run.run_id: f"{source.run.torch_version} ({source.run.torch_build})"
            for source in sources
            if environment in source.environments
        }
        sentences += _unlike(f"torch builds in environment {environment}", torches)
    return tuple(sentences)


def _unlike(what: str, values: Mapping[str, str]) -> list[str]:
    if len(set(values.values())) < 2:
        return []
    listed = ", ".join(f"{value} in {name}" for name, value in sorted(values.items()))
    return [f"unlike {what}: {listed}"]


def _subjects(sources: Sequence[Source]) -> tuple[SubjectSpec, ...]:
    """Every subject once, with all packages that any run had of it."""
    by_name: dict[str, dict[SubjectSpec, str]] = {}
    for source in sources:
        for spec in source.run.subjects:
            by_name.setdefault(spec.subject, {}).setdefault(spec, source.run.run_id)
    for name, specs in by_name.items():
        inliners = {
            run_id: f"{spec.kind} with inliner {spec.inliner_id}, like {spec.release}"
            for spec, run_id in specs.items()
        }
        unlike = _unlike(f"subjects of the name {name}", inliners)
        if unlike:
            raise UsageError(f"cannot merge: {unlike[0]}")
    return ordered_subjects(_one_subject(list(specs)) for specs in by_name.values())


def _one_subject(specs: Sequence[SubjectSpec]) -> SubjectSpec:
    had = [spec for spec in specs if not spec.unavailable] or specs
    packages: dict[tuple[bool, str, str], list[PackageSpec]] = {}
    for spec in specs:
        for package in spec.packages:
            name = package.builder, package.executor
            packages.setdefault((package.builder != SEGMENT, *name), []).append(package)
    return replace(
        min(had, key=repr),
        routes=_routes(spec.routes for spec in specs),
        hypothetical_routes=_routes(spec.hypothetical_routes for spec in specs),
        packages=tuple(_one_package(packages[name]) for name in sorted(packages)),
    )


def _one_package(packages: Sequence[PackageSpec]) -> PackageSpec:
    had = [package for package in packages if not package.unavailable] or packages
    return replace(
        min(had, key=repr),
        routes=_routes(package.routes for package in packages),
        tensorrt_running=joined_words(package.tensorrt_running for package in had),
    )


def _routes(several: Iterable[Sequence[Route]]) -> tuple[Route, ...]:
    named = {route for routes in several for route in routes}
    return tuple(route for route in Route if route in named)


def _joined(
    sources: Sequence[Source], subjects: tuple[SubjectSpec, ...], mismatches: tuple[str, ...]
) -> Provenance:
    """The provenance of the whole, which is the source's own if there is only one."""
    runs = [source.run for source in sources]
    if len(runs) == 1:
        return runs[0]
    ids = sorted(run.run_id for run in runs)
    started = max(run.started_at for run in runs)
    tail = hashlib.sha256(" ".join(ids).encode()).hexdigest()[:6]
    words = (
        "harness_commit",
        "torch_version",
        "torch_build",
        "python",
        "os",
        "cpu_model",
        "rig_digest",
    )
    said = {
        name: joined_words(getattr(run, name) for run in runs)
        for name in (*words, "clock_source", "gpu")
    }
    packages = {run.pip_freeze for run in runs}
    return Provenance(
        run_id=new_run_id(datetime.fromisoformat(started), tail),
        started_at=started,
        command_line=(*PROGRAM.split(), "merge", *ids),
        seeds=tuple(sorted({seed for run in runs for seed in run.seeds})),
        corpus_digest=joined_words(run.corpus_digest for run in runs) or "",
        corpus=min(run.corpus for run in runs),
        subjects=subjects,
        harness_dirty=any(run.harness_dirty for run in runs),
        cpu_cores=min(run.cpu_cores for run in runs),
        memory_bytes=min(run.memory_bytes for run in runs),
        pip_freeze=packages.pop() if len(packages) == 1 else (),
        sources=tuple(sources),
        mismatches=mismatches,
        **cast("dict[str, Any]", said),
    )


def _named(key: CellKey) -> str:
    return f"{key.case} [{key.subject} {key.route} {key.lane} {key.builder} {key.environment}]"


def _some(keys: Sequence[CellKey]) -> str:
    return _first([_named(key) for key in keys])


def _first(told: Sequence[str]) -> str:
    return "; ".join(told[:_NAMED]) + ("; ..." if len(told) > _NAMED else "")
