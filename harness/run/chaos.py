"""Runs that are disturbed at random, and what became of their cells.

A turn begins a run, and strikes it: controller and workers are killed, lines of the journal are
torn, the disk is full, the clock jumps, and a second controller comes to the same folder. Then the
run is seen to its end. Every planned cell has to be in the journal once, and to have ended as in a
run that nobody disturbed. All that is random comes of one seed, but for when the machine does what.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from harness.base.errors import ExitCode, SurroundingsError
from harness.runs.journal import read_journal
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder, RunState
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellRecord

#: Verdicts of a cell: what a table is made of.
Told = Mapping[str, tuple[str, ...]]
#: A controller whose clock jumps so many seconds, so many seconds after it began.
_START: Final = """
import os, runpy, sys, time
os.environ["INLINER_REGRESS_KEPT"] = "no"  # every cell is to be run
jump, after = map(float, sys.argv[1:3])
real, begun = time.time, time.monotonic()
time.time = lambda: real() + (jump if time.monotonic() - begun > after else 0.0)
sys.argv = ["harness", *sys.argv[3:]]
runpy.run_module("harness", run_name="__main__", alter_sys=True)
"""
_LONGEST_S: Final = 300.0  # for a controller to end, or to get on
_DAY_S: Final = 86_400.0
_TRIES: Final = 6  # to see a run to its end


@dataclass
class Chaos:
    """What was done, and what was wrong.

    Attributes:
        strikes: how often each disturbance was done.
        cells: how many cells ended in disturbed runs.
        struck: cells whose verdict is that their worker was killed, as it was.
        faults: cells that were lost or doubled or ended otherwise, and controllers that did not do
            as they should; in words.
    """

    seed: int
    turns: int = 0
    strikes: Counter[str] = field(default_factory=Counter)
    cells: int = 0
    struck: int = 0
    faults: list[str] = field(default_factory=list)


def told_of(records: Mapping[str, CellRecord]) -> Told:
    return {
        cell: tuple(f"{v.oracle} {v.label} {v.message}" for v in record.verdicts)
        for cell, record in records.items()
    }


def faults_in(
    planned: Iterable[str],
    journalled: Sequence[str],
    records: Mapping[str, CellRecord],
    undisturbed: Told,
    killed: int,
) -> tuple[list[str], int]:
    """What is wrong with a disturbed run, and how many cells tell that their worker was killed.

    Args:
        planned: the ids of its cells; ``journalled`` those of each line of its journal.
        killed: how many workers were killed: so many cells at most may tell it.
    """
    counts = Counter(journalled)
    faults = [f"lost: {cell}" for cell in planned if cell not in counts]
    faults += [f"doubled: {cell}" for cell, count in counts.items() if count > 1]
    faults += [f"not planned: {cell}" for cell in counts.keys() - set(planned)]
    told, struck = told_of(records), 0
    for cell, said in told.items():
        if said == undisturbed.get(cell):
            continue
        symptom = records[cell].verdict(Oracle.COMPLETION).symptom
        if symptom in (Symptom.FLAKY, Symptom.KILLED) and struck < killed:
            struck += 1
        else:
            faults.append(f"ended otherwise: {cell}: {said}")
    return faults, struck


def disturb(
    asked: Sequence[str], out: Path, seconds: float, seed: int, say: Callable[[str], None]
) -> Chaos:
    """Disturb runs of what is asked for so long, at least one.

    Args:
        asked: the options of `run` that choose its cells.
    """
    chaos, rng = Chaos(seed), random.Random(seed)
    calm = _Turn([*asked, "--out", str(out / "undisturbed")], out / "undisturbed", rng, chaos)
    calm.start()
    calm.to_its_end()
    undisturbed = told_of(calm.folder().records())
    say(f"{len(undisturbed)} cells undisturbed")
    ends = time.monotonic() + seconds
    while not chaos.turns or time.monotonic() < ends:
        place = out / f"turn-{chaos.turns}"
        turn = _Turn([*asked, "--out", str(place)], place, rng, chaos)
        turn.start()
        for strike in rng.sample(_STRIKES, len(_STRIKES)):
            if not turn.gets_on() or (chaos.turns and time.monotonic() > ends):
                break
            strike(turn)
        turn.to_its_end()
        folder = turn.folder()
        found, struck = faults_in(
            [cell.key.cell_id for cell in folder.plan()],
            _journalled(folder),
            folder.records(),
            undisturbed,
            turn.killed,
        )
        chaos.faults += [f"turn {chaos.turns}: {fault}" for fault in found]
        chaos.cells += len(folder.plan())
        chaos.struck += struck
        chaos.turns += 1
        say(f"turn {chaos.turns}: {dict(turn.done)}, {len(found)} faults")
    return chaos


def chaos_to_json(chaos: Chaos) -> dict[str, Any]:
    return {**vars(chaos), "strikes": dict(sorted(chaos.strikes.items()))}


def _journalled(folder: RunFolder) -> list[str]:
    """The id of the cell of each line of a journal."""
    ids = {json.dumps(_key(cell.key), sort_keys=True): cell.key.cell_id for cell in folder.plan()}
    return [
        ids.get(key := json.dumps(payload["key"], sort_keys=True), key)
        for payload in read_journal(folder.path / folder.JOURNAL).payloads
    ]


def _key(key: Any) -> dict[str, str]:
    return {name: str(value) for name, value in vars(key).items() if name != "cell_id"}


class _Turn:
    """One run, and the controller that is at it."""

    def __init__(self, asked: list[str], out: Path, rng: random.Random, chaos: Chaos) -> None:
        self._asked, self._out, self._chaos = asked, out, chaos
        self.rng, self.killed = rng, 0
        self.done: Counter[str] = Counter()
        out.mkdir(parents=True)

    def start(self, jump_s: float = 0.0, *, beside: bool = False) -> subprocess.Popen[bytes]:
        """Begin the run, or go on with it."""
        words = ["run", *self._asked]
        if (self._out / LATEST).exists():
            words = ["run", "--resume", LATEST, "--out", str(self._out)]
        after = str(self.rng.uniform(2.0, 15.0))
        with (self._out / "printed").open("ab") as log:
            # Another process writes what it prints, which is not to be cut short by a full disk.
            copier = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log)
        controller = subprocess.Popen(
            [sys.executable, "-c", _START, str(jump_s), after, *words],
            cwd=PROJECT_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=copier.stdin,
            stderr=copier.stdin,
        )
        assert copier.stdin is not None
        copier.stdin.close()
        if not beside:
            self.controller = controller
        return controller

    def folder(self) -> RunFolder:
        return RunFolder.open(LATEST, self._out)

    @property
    def journal(self) -> Path:
        return self._out / LATEST / RunFolder.JOURNAL

    def gets_on(self) -> bool:
        """Wait until some more cells have ended; False where the run is at its end."""
        since = time.monotonic()
        goal = self._size() + self.rng.randrange(500, 20_000)
        while self.controller.poll() is None and self._size() < goal:
            if time.monotonic() - since > _LONGEST_S:
                raise SurroundingsError(f"{self._out}: a run did not get on in {_LONGEST_S:.0f} s")
            time.sleep(0.05)
        return self.controller.poll() is None

    def _size(self) -> int:
        return self.journal.stat().st_size if self.journal.exists() else 0

    def kill(self) -> None:
        """Kill the controller as a machine that loses its power does."""
        self.controller.send_signal(signal.SIGKILL)
        self.controller.wait()

    def end(self) -> int:
        """Wait until the controller has ended; its exit code."""
        try:
            return self.controller.wait(_LONGEST_S)
        except subprocess.TimeoutExpired:
            self.fault("a controller did not end")
            self.kill()
            return -signal.SIGKILL

    def to_its_end(self) -> None:
        """See the run to its end."""
        for _ in range(_TRIES):
            code = self.end()
            if self.journal.exists() and self.folder().state() is RunState.COMPLETE:
                return
            if code not in (-signal.SIGKILL, ExitCode.FAILED):
                self.fault(f"a controller ended with {code} and the run is not complete")
            self.start()
        self.end()
        self.fault(f"the run is not complete after {_TRIES} controllers")

    def count(self, what: str) -> None:
        self.done[what] += 1
        self._chaos.strikes[what] += 1

    def fault(self, what: str) -> None:
        self._chaos.faults.append(f"turn {self._chaos.turns}: {what}; see {self._out / 'printed'}")


def _kill_controller(turn: _Turn) -> None:
    turn.kill()
    turn.start()
    turn.count("controller killed")


def _kill_worker(turn: _Turn) -> None:
    started = psutil.Process(turn.controller.pid).children(recursive=True)
    workers = [process for process in started if process.is_running()]
    if workers:
        turn.rng.choice(workers).kill()
        turn.killed += 1
        turn.count("worker killed")


def _tear_line(turn: _Turn) -> None:
    """The controller dies in the middle of a line: some bytes of the last one never came."""
    turn.kill()
    data = turn.journal.read_bytes()
    last = len(data) - (data[:-1].rfind(b"\n") + 1)
    if last > 1:
        os.truncate(turn.journal, len(data) - turn.rng.randrange(1, last))
        turn.count("line torn")
    turn.start()


def _fill_disk(turn: _Turn) -> None:
    """A limit on the size of the controller's files stands for the disk that is full."""
    room = turn.journal.stat().st_size + turn.rng.randrange(1, 400)
    _, hard = resource.prlimit(turn.controller.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(turn.controller.pid, resource.RLIMIT_FSIZE, (room, hard))
    code = turn.end()
    turn.count("disk full")
    if code not in (ExitCode.FAILED, ExitCode.GREEN):
        turn.fault(f"with a full disk a controller ended with {code}")
    turn.start()


def _jump_clock(turn: _Turn) -> None:
    turn.kill()
    turn.start(turn.rng.uniform(-_DAY_S, _DAY_S))
    turn.count("clock jumped")


def _second_controller(turn: _Turn) -> None:
    second = turn.start(beside=True)
    code = second.wait(_LONGEST_S)
    turn.count("second controller")
    if turn.controller.poll() is None and code != ExitCode.USAGE:
        turn.fault(f"a second controller on one folder ended with {code}")


_STRIKES: Final[Sequence[Callable[[_Turn], None]]] = (
    _kill_controller, _kill_worker, _tear_line, _fill_disk, _jump_clock, _second_controller,
)  # fmt: skip
