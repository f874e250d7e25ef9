"""The time and memory that the workers of a run took, kept beside its journal.

A worker reports them at the end of each job, in seconds of its own clock since torch was imported.
Work that cells share counts once. A job whose worker or controller was killed is in no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.runs.journal import Journal, read_journal
from harness.runs.run_directory import foreign_or_damaged
from harness.wire.record_json import decode, to_json

COSTS_FILE = "spent.jsonl"


@dataclass(frozen=True)
class Cost:
    """Seconds that workers spent on jobs, in all and inside of stages, and their memory.

    ``peak_bytes`` is the peak of resident memory of each worker by its process id. Older runs did
    not record it.
    """

    worker_s: float
    stages_s: float
    peak_bytes: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Cost) -> Cost:
        peaks = {**self.peak_bytes}
        for worker, held in other.peak_bytes.items():
            peaks[worker] = max(held, peaks.get(worker, 0))
        return Cost(self.worker_s + other.worker_s, self.stages_s + other.stages_s, peaks)

    @property
    def workers_peak_bytes(self) -> int | None:
        """The sum over all workers, even if they were not alive together; None if unknown."""
        return sum(self.peak_bytes.values()) if self.peak_bytes else None

    @property
    def stage_share(self) -> float | None:
        """The part of the workers' time that went into stages; None if there was no time."""
        return self.stages_s / self.worker_s if self.worker_s else None


def own_peak_bytes() -> int:
    """The peak of this process's resident memory.

    It is not taken from `getrusage`, which includes what the parent held when it forked.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    said = dict(line.split(":", 1) for line in lines)
    return int(said["VmHWM"].split()[0]) * 1024  # as "1234 kB"


@contextmanager
def cost_log(folder: Path) -> Iterator[Callable[[Cost], None]]:
    """Yields a function that adds a job to a run's log. The caller holds the run's lock."""
    with Journal(folder / COSTS_FILE) as log:
        yield lambda spent: log.append(to_json(spent))


def read_costs(folder: Path) -> Cost | None:
    """The sum over all jobs, including those before a resume; None if there are none."""
    path = folder / COSTS_FILE
    if not path.exists():  # a run of before this was kept, or one that did not get to a job
        return None
    with foreign_or_damaged(path, "start a new run"):
        found = [decode(Cost, payload) for payload in read_journal(path).payloads]
    return sum(found[1:], found[0]) if found else None
