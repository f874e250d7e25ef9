"""The commands that a report prints, with the options that find the run's cases and candidates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.base.program import PROGRAM
from harness.runs.run_directory import LATEST
from harness.wire.records import CellKey
from harness.wire.routes import Lane


@dataclass(frozen=True)
class Places:
    """Where a run's cases, candidates and folder are, for the commands that it prints.

    ``corpus`` is empty for the project's own cases, ``out`` for the folder where runs are by
    default; ``run`` is the run's id. A user's cases, and ``candidates``, which are in no catalogue,
    are looked up in the run itself, as they were.
    ``declared`` has the file and line of each case that is not the project's own.
    """

    corpus: tuple[str, ...] = ()
    run: str = LATEST
    seed: int = 0
    declared: Mapping[str, str] = field(default_factory=dict)
    out: str = ""
    candidates: frozenset[str] = frozenset()

    def options(self, subject: str) -> str:
        """The options that `explain` and `reproduce` need besides case and subject."""
        words = []
        if subject in self.candidates or (self.corpus and self.run != LATEST):
            words = ["--run", self.which]
        else:
            words = [word for place in self.corpus for word in ("--corpus", place)]
        if self.seed:
            words += ["--seed", str(self.seed)]
        return _as_options(words)

    @property
    def which(self) -> str:
        """The run, as a command finds it from the current folder."""
        return str(Path(self.out, self.run))

    @property
    def report_command(self) -> str:
        """The command that writes the run's report anew."""
        return f"{PROGRAM} report {shlex.quote(self.which)}"

    @property
    def of_run(self) -> str:
        """The options that a command needs besides the run's id."""
        return _as_options(["--out", self.out] if self.out else [])


HERE: Final = Places()
RESULTS: Final = "results"  # where the commands look for runs if they are not told


def explain_command(key: CellKey, places: Places = HERE) -> str:
    """The command that shows one cell. A cell on a GPU is run again, because `explain` emulates."""
    if key.lane == Lane.ENGINE:
        return (
            f"{PROGRAM} run --lane {key.lane} --environment matched "
            f"--releases {key.subject} --routes {key.route} -k {key.case}"
        )
    command = f"{PROGRAM} explain {key.case} --subject {key.subject} --route {key.route}"
    capture = "" if key.capture == "nonstrict" else f" --capture {key.capture}"
    builder = f" --builder {key.builder.kind}" if key.builder.real else ""
    return f"{command}{capture}{builder}{places.options(key.subject)}"


def _as_options(words: Sequence[str]) -> str:
    return f" {shlex.join(words)}" if words else ""
