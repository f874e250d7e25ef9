"""What a reader of a bench must know before its numbers: flagged, never a reason to drop any."""

from __future__ import annotations

from collections.abc import Iterator

from harness.bench.machine import flags, stolen
from harness.bench.samples import Samples
from harness.runs.provenance import Provenance

OVERHEAD_S = 5e-6  # of a timed region
TIMED_SHARE = 0.85
COLD_SHARE = 0.05  # of a file that is still in memory when it was dropped


def notes(provenance: Provenance, samples: Samples) -> tuple[str, ...]:
    return tuple(_notes(provenance, samples))


def _notes(provenance: Provenance, samples: Samples) -> Iterator[str]:
    yield from flags(samples.states, provenance.cpu_cores)
    yield from stolen(samples.states, samples.spent_s)
    if samples.sessions:
        ready = samples.sessions[-1]["ready"]
        if ready["cold_share"] is None or ready["cold_share"] > COLD_SHARE:
            yield (
                f"load-cold is not cold: {ready['temporary_folder']} keeps files in memory; "
                "set TMPDIR to a folder on a disk"
            )
        if ready["overhead_s"] > OVERHEAD_S:
            yield f"a timed region costs {ready['overhead_s'] * 1e6:.1f} µs of its own"
    if samples.timed_share is not None and samples.timed_share < TIMED_SHARE:
        yield f"only {samples.timed_share:.0%} of the workers' time was inside of timed regions"
