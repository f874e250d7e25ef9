"""A zygote without processes, whose arms take what they are told to, and benches made with it."""

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.bench.bench import BenchFolder, JudgedBench, reopen
from harness.bench.machine import MachineState
from harness.bench.plan import Bands, BenchCell, BenchPlan
from harness.bench.process import JobFailed
from harness.bench.samples import read_samples
from harness.bench.sampling import Sampling
from harness.runs.provenance import Provenance
from harness.wire.bench_records import BenchCase
from harness.wire.record_json import SCHEMA
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.record_builders import provenance

METRICS = ("save", "load-warm")
BYTES = {"file": 1e5, "engines": 5e4, "save-peak": 1e7, "load-peak": 2e7, "after-load": 1e6}


def plan_of(
    *names: str,
    budget_s: float = 60.0,
    seed: int = 0,
    candidate: str = "2.14.0",
    cells: tuple[BenchCell, ...] = (),
    spawn: bool = False,
) -> BenchPlan:
    return BenchPlan(
        baseline="2.13.0",
        candidate=candidate,
        cells=cells or tuple(BenchCell(BenchCase(name), "legacy", "family") for name in names),
        metrics=METRICS,
        gating=METRICS,
        bands=Bands(),
        budget_s=budget_s,
        seed=seed,
        spawn=spawn,
    )


@dataclass
class Simulated:
    """``slower`` is what an arm's seconds are multiplied by, by arm name."""

    slower: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.02
    seconds: float = 0.03
    fails: str = ""
    asked: list[str] = field(default_factory=list)

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        self.asked.append(do)
        if case.name == self.fails:
            raise JobFailed("KeyError: (relu, relu_1)", "Traceback ...")
        if do == "prepare":
            return {"steps": 4, "engine_bytes": 1000, "seconds": {"split": 0.1}}
        if do == "sizes":
            return {"sizes": BYTES}
        if do == "forget":
            return {}
        drawn = random.Random(fields["seed"])
        arms = {arm["name"]: self._arm(arm["name"], case, fields, drawn) for arm in fields["arms"]}
        return {"arms": arms}

    def _arm(
        self, name: str, case: BenchCase, fields: Mapping[str, Any], drawn: random.Random
    ) -> dict[str, Any]:
        level = self.seconds * max(case.size, 1) * self.slower.get(name, 1.0)
        worker = level * drawn.lognormvariate(0, self.noise)

        def series(count: int) -> dict[str, list[float]]:
            return {
                metric: [worker * drawn.lognormvariate(0, self.noise) for _ in range(count)]
                for metric in METRICS
            }

        total = (fields["warm_up"] + fields["calls"]) * worker * len(METRICS)
        return {
            "warm_up": series(fields["warm_up"]),
            "seconds": series(fields["calls"]),
            "timed_s": total * 0.95,
            "call_s": total,
            "start_s": 0.01,
        }


QUIET = asdict(MachineState(0.5, 0.0, 2600.0, None, None))
READY = {"cold_share": 0.0, "overhead_s": 2e-6, "temporary_folder": "/tmp", "corpus_digest": "c"}


def provenance_of(plan: BenchPlan, **fields: Any) -> Provenance:
    subjects = (
        SubjectSpec(name, SubjectKind.RELEASE, (Route.LEGACY,), inliner_id=name.ljust(64, "0"))
        for name in dict.fromkeys((plan.baseline, plan.candidate))
    )
    given = {
        "run_id": "20260131T000000Z-abcdef",
        "started_at": "2026-01-31T00:00:00+00:00",
        "seeds": (plan.seed,),
        "corpus_digest": "c",
        "subjects": tuple(subjects),
    }
    return provenance(**given | fields)


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
