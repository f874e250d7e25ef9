"""A zygote without processes: arms take what they are told to take, with seeded noise."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.bench.plan import Bands, BenchCell, BenchPlan
from harness.bench.process import JobFailed
from harness.wire.bench_records import BenchCase

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
