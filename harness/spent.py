"""What the workers of a run spent, kept beside its journal: the share of it that went into stages.

A worker tells it with the end of each job, in seconds of its own clock, from torch being imported
on. Work that was shared between cells counts once. A job whose worker died told nothing and is in
neither sum; nor is what came before a kill of the controller in the middle of a job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.journal import Journal, read_journal
from harness.rig.records import SCHEMA

SPENT_FILE = "spent.jsonl"


@dataclass(frozen=True)
class Spent:
    """Seconds that workers spent on jobs: in all, and inside of stages."""

    worker_s: float
    stages_s: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.worker_s + other.worker_s, self.stages_s + other.stages_s)

    @property
    def stage_share(self) -> float | None:
        """The part of the workers' time that went into stages; None of no time at all."""
        return self.stages_s / self.worker_s if self.worker_s else None


@contextmanager
def spent_log(folder: Path) -> Iterator[Callable[[Spent], None]]:
    """What adds a job's seconds to a run; whoever calls it holds the run's lock.

    Raises:
        UsageError: the file is damaged.
        SurroundingsError: it cannot be written.
    """
    with Journal(folder / SPENT_FILE) as log:
        yield lambda spent: log.append({"schema": SCHEMA, **dataclasses.asdict(spent)})


def read_spent(folder: Path) -> Spent | None:
    """The sum over all jobs that told, before a resume too; None where none did.

    Raises:
        UsageError: the file is damaged, or of an unknown schema.
    """
    path = folder / SPENT_FILE
    if not path.exists():  # a run of before this was kept, or one that did not get to a job
        return None
    found = [_spent(payload, path) for payload in read_journal(path).payloads]
    return sum(found[1:], found[0]) if found else None


def _spent(payload: Mapping[str, Any], path: Path) -> Spent:
    try:
        return Spent(float(payload["worker_s"]), float(payload["stages_s"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: foreign or damaged: {error}; start a new run") from error
