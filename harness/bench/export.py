"""A bench as a suite of pyperf's, whose reader shows and compares it.

It is written by hand from pyperf's format, because pyperf is not needed to measure; a test reads it
back with pyperf itself. A worker is a run of pyperf's, and its calls are the values.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.bench.samples import CellSamples, Samples
from harness.runs.provenance import Provenance

PYPERF_VERSION = "1.0"  # of its file format


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


def _benchmarks(samples: Samples) -> Iterator[tuple[str, CellSamples, str]]:
    """Name, cell and metric of all that was measured."""
    for cell_id, cell in samples.cells.items():
        for metric in cell.measured:
            yield f"{cell_id}.{metric}", cell, metric


def _calls(block: Mapping[str, Any], arm: str, which: str, metric: str) -> list[float]:
    return list(block["arms"][arm][which].get(metric, ()))


def _date(unix_s: float) -> str:
    return datetime.datetime.fromtimestamp(unix_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
