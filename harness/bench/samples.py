"""The raw samples of a bench, as its journal tells them, and as pyperf and a table take them.

A line of the journal has a ``kind``:

    session   a process began to measure: what the zygote said of itself, the machine's state
    prepared  a case was captured and split: how long it took, its steps and engine bytes
    pilot     a block without warm-up, from which the number of calls is read; no evidence
    sizes     bytes of one arm, measured in a worker of its own
    block     the samples of three workers: the evidence
    failed    a cell that cannot be measured, and why
    stopped   a cell whose stages are all decided at an interim look
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from harness.base.errors import UsageError
from harness.bench.plan import ARMS, BASELINE, BenchPlan
from harness.runs.provenance import Provenance
from harness.stats.blocks import Block


@dataclass
class CellSamples:
    """The records of one cell; ``blocks`` and ``sizes`` are lines of the journal."""

    pilot: Mapping[str, Any] | None = None
    blocks: list[Mapping[str, Any]] = field(default_factory=list)
    sizes: list[Mapping[str, Any]] = field(default_factory=list)
    failed: str = ""
    stopped: bool = False

    @property
    def last_job_s(self) -> float | None:
        """The seconds of the last block, or else of the pilot; None before both."""
        last = self.blocks[-1] if self.blocks else self.pilot
        return None if last is None else float(last["wall_s"])

    @property
    def measured(self) -> tuple[str, ...]:
        """The metrics that every worker of every block measured."""
        if not self.blocks:
            return ()
        of_arms = [set(arm["seconds"]) for block in self.blocks for arm in block["arms"].values()]
        return tuple(
            name
            for name in self.blocks[0]["arms"][BASELINE]["seconds"]
            if all(name in of_arm for of_arm in of_arms)
        )

    def of(self, metric: str) -> list[Block]:
        """The medians of a metric, block by block."""
        return [
            Block.of(*(block["arms"][arm]["seconds"][metric] for arm in ARMS))
            for block in self.blocks
        ]

    def workers(self, metric: str, arm: str) -> list[list[float]]:
        """The kept calls of each worker of an arm."""
        return [list(block["arms"][arm]["seconds"][metric]) for block in self.blocks]

    def medians(self, metric: str, arm: str) -> list[float]:
        return [median(calls) for calls in self.workers(metric, arm)]


@dataclass
class Samples:
    """A whole journal, by cell. ``spent_s`` is what measuring took, over all sessions."""

    cells: dict[str, CellSamples]
    cases: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    sessions: list[Mapping[str, Any]] = field(default_factory=list)
    spent_s: float = 0.0

    def add(self, line: Mapping[str, Any]) -> None:
        """Take in one line of the journal."""
        kind = line["kind"]
        self.spent_s += line.get("wall_s", 0.0)
        if kind == "session":
            self.sessions.append(line)
        elif kind == "prepared":
            self.cases[line["case"]] = line
        else:
            if line["cell"] not in self.cells:
                raise UsageError(f"the journal has a cell that is not planned: {line['cell']}")
            cell = self.cells[line["cell"]]
            match kind:
                case "pilot":
                    cell.pilot = line
                case "block":
                    cell.blocks.append(line)
                case "sizes":
                    cell.sizes.append(line)
                case "failed":
                    cell.failed = line["reason"]
                case "stopped":
                    cell.stopped = True
                case _:
                    raise UsageError(f"the journal has a line of the unknown kind {kind!r}")

    @property
    def states(self) -> list[Mapping[str, Any]]:
        """The machine's states, in the order of time."""
        blocks = [block for cell in self.cells.values() for block in cell.blocks]
        lines = sorted([*self.sessions, *blocks], key=lambda line: float(line["at_unix_s"]))
        return [line["machine"] for line in lines]

    @property
    def timed_share(self) -> float | None:
        """The share of the workers' time after set-up that was timed."""
        arms = [
            arm
            for cell in self.cells.values()
            for block in cell.blocks
            for arm in block["arms"].values()
        ]
        wall = sum(arm["call_s"] for arm in arms)
        return sum(arm["timed_s"] for arm in arms) / wall if wall else None


def read_samples(plan: BenchPlan, payloads: Iterable[Mapping[str, Any]]) -> Samples:
    """The samples of a journal's lines."""
    samples = Samples({cell.cell_id: CellSamples() for cell in plan.cells})
    for number, line in enumerate(payloads, start=1):
        try:
            samples.add(line)
        except (KeyError, TypeError) as error:
            raise UsageError(f"line {number} of the journal is damaged: {error!r}") from error
    return samples


def rows(samples: Samples) -> list[dict[str, Any]]:
    """One row for each sample, warm-up calls included, for a table that anybody can read."""
    return [
        {
            "cell": cell_id,
            "block": number,
            "arm": name,
            "metric": metric,
            "call": call,
            "warm_up": which == "warm_up",
            "seconds": seconds,
            "at_unix_s": block["at_unix_s"],
        }
        for cell_id, cell in samples.cells.items()
        for number, block in enumerate(cell.blocks)
        for name, arm in block["arms"].items()
        for which in ("warm_up", "seconds")
        for metric, calls in arm[which].items()
        for call, seconds in enumerate(calls)
    ]


def pooled(blocks: Sequence[Mapping[str, Any]], metric: str, arms: Sequence[str]) -> list[float]:
    """All kept calls of some arms, in the order of blocks, pooled."""
    return [
        seconds
        for block in blocks
        for arm in arms
        for seconds in block["arms"][arm]["seconds"][metric]
    ]


PYPERF_VERSION = "1.0"  # of its file format


def pyperf_suite(samples: Samples, provenance: Provenance, arm: str) -> str:
    """One arm as a pyperf suite. The suites of two arms have the same benchmarks.

    A worker is a run of pyperf's, and its calls are the values. The suite is written by hand,
    because pyperf is not needed to measure; a test reads it back with pyperf.

    Args:
        arm: `baseline` or `candidate`.
    """
    benchmarks = [
        {
            "metadata": {"name": name, "unit": "second", "loops": 1},
            "runs": [
                {
                    "metadata": {"date": _date(block["at_unix_s"])},
                    "warmups": [[1, value] for value in _calls(block, arm, "warm_up", metric)],
                    "values": _calls(block, arm, "seconds", metric),
                }
                for block in cell.blocks
            ],
        }
        for name, cell, metric in _benchmarks(samples)
    ]
    metadata = {
        "cpu_model_name": provenance.cpu_model,
        "python_version": provenance.python,
        "platform": provenance.os,
    }
    suite = {"version": PYPERF_VERSION, "metadata": metadata, "benchmarks": benchmarks}
    return json.dumps(suite)


def _benchmarks(samples: Samples) -> Iterator[tuple[str, CellSamples, str]]:
    """Name, cell and metric of all that was measured."""
    for cell_id, cell in samples.cells.items():
        for metric in cell.measured:
            yield f"{cell_id}.{metric}", cell, metric


def _calls(block: Mapping[str, Any], arm: str, which: str, metric: str) -> list[float]:
    return list(block["arms"][arm][which].get(metric, ()))


def _date(unix_s: float) -> str:
    return datetime.datetime.fromtimestamp(unix_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
