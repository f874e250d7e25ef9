"""A bench in other tools' own forms: pyperf's suite, and asv's results of one commit.

Written by hand from their formats, since neither is needed to measure; tests read them back with
the tools themselves. A worker is a run of pyperf's, and its calls are the values.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from harness.bench.plan import AGAIN, BASELINE, CANDIDATE, BenchPlan
from harness.bench.samples import CellSamples, Samples
from harness.runs.provenance import Provenance

PYPERF_VERSION = "1.0"  # of its file format
ASV_API_VERSION = 2
_ASV_COLUMNS = [
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b",
    "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples",
]  # fmt: skip


def pyperf_suite(samples: Samples, provenance: Provenance, arm: str) -> str:
    """One arm as a pyperf suite; those of two arms have the same benchmarks, to be compared.

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


def asv_results(plan: BenchPlan, samples: Samples, provenance: Provenance, arm: str) -> str:
    """One arm as asv's results file of one commit, the subject's inliner taken for a commit."""
    subject = plan.candidate if arm == CANDIDATE else plan.baseline
    spec = next(each for each in provenance.subjects if each.subject == subject)
    identity = (spec.inliner_id or "").ljust(40, "0")[:40]
    started = datetime.datetime.fromisoformat(provenance.started_at)
    milliseconds = int(started.timestamp() * 1000)
    results = {}
    for name, cell, metric in _benchmarks(samples):
        values = sorted(value for each in _arms(arm) for value in cell.medians(metric, each))
        quarter = len(values) // 4
        results[name] = [
            [median(values)], [], "1", milliseconds, None, [values[0]], [values[-1]],
            [values[quarter]], [values[-1 - quarter]], [1], [len(values)], [values],
        ]  # fmt: skip
    python = provenance.python.rpartition(" ")[2]
    machine = {
        "machine": "inliner-regress",
        "cpu": provenance.cpu_model,
        "num_cpu": str(provenance.cpu_cores),
        "ram": str(provenance.memory_bytes),
        "os": provenance.os,
    }
    return json.dumps(
        {
            "version": ASV_API_VERSION,
            "commit_hash": identity,
            "env_name": f"torch{provenance.torch_version}",
            "date": milliseconds,
            "params": {**machine, "python": python, "torch": str(provenance.torch_version)},
            "python": python,
            "requirements": {"torch": str(provenance.torch_version)},
            "env_vars": {},
            "result_columns": _ASV_COLUMNS,
            "results": results,
            "durations": {},
        }
    )


def _benchmarks(samples: Samples) -> Iterator[tuple[str, CellSamples, str]]:
    """Name, cell and metric of all that was measured."""
    for cell_id, cell in samples.cells.items():
        for metric in cell.measured:
            yield f"{cell_id}.{metric}", cell, metric


def _arms(arm: str) -> Sequence[str]:
    """asv takes both baselines for one."""
    return (BASELINE, AGAIN) if arm == BASELINE else (arm,)


def _calls(block: Mapping[str, Any], arm: str, which: str, metric: str) -> list[float]:
    return list(block["arms"][arm][which].get(metric, ()))


def _date(unix_s: float) -> str:
    return datetime.datetime.fromtimestamp(unix_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
