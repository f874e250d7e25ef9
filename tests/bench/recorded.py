"""Benches on the disk, whose samples come from a simulated zygote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.bench.bench import BenchFolder, JudgedBench, reopen
from harness.bench.machine import MachineState
from harness.bench.plan import BenchPlan
from harness.bench.samples import read_samples
from harness.bench.sampling import Sampling
from harness.runs.provenance import Provenance
from harness.wire.record_json import SCHEMA
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.bench.simulated import Simulated

QUIET = asdict(MachineState(0.5, 0.0, 2600.0, None, None))
READY = {"cold_share": 0.0, "overhead_s": 2e-6, "temporary_folder": "/tmp", "corpus_digest": "c"}


def provenance_of(plan: BenchPlan, **fields: Any) -> Provenance:
    found: dict[str, Any] = {
        "run_id": "20260131T000000Z-abcdef",
        "started_at": "2026-01-31T00:00:00+00:00",
        "command_line": ("python", "-m", "harness", "bench"),
        "seeds": (plan.seed,),
        "corpus_digest": "c",
        "subjects": tuple(
            SubjectSpec(name, SubjectKind.RELEASE, (Route.LEGACY,), inliner_id=name.ljust(64, "0"))
            for name in dict.fromkeys((plan.baseline, plan.candidate))
        ),
        "harness_commit": None,
        "harness_dirty": None,
        "torch_version": "2.13.0",
        "torch_build": "git_version abc",
        "pip_freeze": (),
        "python": "CPython 3.11.7",
        "os": "Linux",
        "cpu_model": "A processor",
        "cpu_cores": 2,
        "memory_bytes": 24 * 2**30,
        "clock_source": "clock_gettime(CLOCK_MONOTONIC)",
    }
    return Provenance(**(found | fields))


def record(
    out: Path,
    plan: BenchPlan,
    *,
    slower: Mapping[str, float] | None = None,
    noise: float = 0.005,
    blocks: int = 12,
    level: float = 1.0,
    **provenance: Any,
) -> JudgedBench:
    """A bench in which every cell has this many blocks, of seconds that are told beforehand."""
    folder = BenchFolder.create(out, provenance_of(plan, **provenance), plan)
    samples = read_samples(plan, ())
    zygote = Simulated(slower or {}, noise, seconds=0.03 * level)
    with folder.writing() as journal:

        def write(line: Mapping[str, Any]) -> None:
            journal.append(line)

        session = {"schema": SCHEMA, "kind": "session", "ready": READY, "start_s": 2.0}
        write({**session, "machine": QUIET, "at_unix_s": 0.0})
        sampling = Sampling(plan, samples, zygote, write, lambda: 10**12)
        counted = [cell for cell in plan.cells if cell.gates or not plan.gates]
        watched = [samples.cells[cell.cell_id] for cell in counted]
        for _ in sampling.run():
            if all(len(cell.blocks) >= blocks or cell.stopped for cell in watched):
                break
    return reopen(folder.path, out)
