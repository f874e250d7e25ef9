"""A campaign of mutants: which wrong copies of a release's own code does the corpus find?

Every case is asked of every mutant that no case has found yet, those first that are in the quick
list. A mutant is found where the gate would turn red over a candidate that is judged so
(`harness.gate.candidate`): the same rule that users' files meet. The journal holds all, so that a
campaign which is interrupted goes on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.campaigns.lines import journal_lines, opened_journal
from harness.campaigns.mutation import Mutant
from harness.gate.candidate import judge_candidate
from harness.gate.pairs import Pair
from harness.wire.oracles import Oracle
from harness.wire.record_json import cell_from_json
from harness.wire.records import CellRecord
from harness.workers.jobs import Job
from harness.workers.launching import LOCAL, Launcher, start_ready
from harness.workers.process import Setup, Worker, WorkerDied, WorkerLost, WorkerTimeout

#: Longer than a worker waits for any mutant, and than a release's own cells of one case take.
_SILENCE_S: Final = 900.0
#: So many machines may be lost under one case.
_LOSSES: Final = 3
#: The name of the copy that nothing was done to. What finds it is a fault of this harness.
UNCHANGED: Final = "unchanged"


#: A mutant's file, and the first and last of the lines without which it cannot matter.
Place = tuple[str, int, int]


@dataclass(frozen=True)
class Mutating(Setup):
    """The setup of a worker of a lane, ``of``, and the mutants that it can be asked for."""

    of: Setup
    mutated: str  # the module's name
    places: Mapping[str, Place]
    compiles: bool

    module: ClassVar[str] = "harness.rig.workers.mutants"

    @classmethod
    def around(
        cls, of: Setup, mutated: str, places: Mapping[str, Place], *, compiles: bool
    ) -> Mutating:
        """A lane's setup with mutants of a module; ``compiles`` if compiling reaches it."""
        common = {each.name: getattr(of, each.name) for each in dataclasses.fields(Setup)}
        return cls(**common, of=of, mutated=mutated, places=places, compiles=compiles)

    @property
    def reads(self) -> set[Path]:
        return self.of.reads | {Path(path).parent for path, _, _ in self.places.values()}

    def message(self) -> dict[str, Any]:
        return {
            **self.of.message(),
            "module": self.mutated,
            "mutants": {name: list(place) for name, place in self.places.items()},
            "compiles": self.compiles,
        }


@dataclass(frozen=True)
class Found:
    """Where a mutant was found first, and what the gate said there.

    ``beside`` are the packages that were installed as well, empty where none was asked for.
    """

    case: str
    capture: str
    lane: str
    route: str
    oracle: str
    reason: str
    beside: str = ""


@dataclass
class Ledger:
    """What is known of each mutant, by its name; all of it is in the journal.

    ``unloaded`` are those that do not import, which are no mutants; ``asked`` holds the cases, with
    lane and capture, that each was asked, and ``reached`` those that run any of its lines.
    """

    found: dict[str, Found] = field(default_factory=dict)
    unloaded: dict[str, str] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)
    reached: dict[str, set[str]] = field(default_factory=dict)

    def read(self, line: Mapping[str, Any]) -> None:
        match line["event"]:
            case "found":
                self.found[line["mutant"]] = Found(**line["where"])
            case "unloaded":
                self.unloaded[line["mutant"]] = line["why"]
            case "asked":
                for name, reached in line["mutants"].items():
                    self.asked.setdefault(name, set()).add(line["case"])
                    if reached:
                        self.reached.setdefault(name, set()).add(line["case"])

    def alive(self, name: str) -> bool:
        return name not in self.found and name not in self.unloaded


class Journal:
    """A ledger, and the file that it is read from and written to.

    Raises:
        UsageError: the folder has a journal over other sources.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.ledger = Ledger()
        for line in journal_lines(folder):
            if line["event"] == "file" and line["sha256"] != digest:
                raise UsageError(
                    f"{folder} holds a campaign over another file; give another folder by --out"
                )
            self.ledger.read(line)
        folder.mkdir(parents=True, exist_ok=True)
        self._file = opened_journal(folder)
        self.write(event="file", sha256=digest)

    def write(self, **line: Any) -> None:
        self.ledger.read(line)
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


@dataclass(frozen=True)
class Spent:
    """How long one lane took, and whether all was asked."""

    seconds: float
    complete: bool


class MutantCampaign:
    """Asks mutants of one file, through one lane after the other."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        folder: Path,
        say: Callable[[str], None] = lambda line: None,
        launcher: Launcher = LOCAL,
        beside: str = "",
    ) -> None:
        source = mutants[0].before
        self._beside = beside
        self.places: dict[str, Place] = {}
        self._say = say
        self._launcher = launcher
        self._told = 0.0
        texts = {UNCHANGED: (source, 1, 1)} | {
            mutant.name: (mutant.after, mutant.first, mutant.last) for mutant in mutants
        }
        (folder / "texts").mkdir(parents=True, exist_ok=True)
        for name, (text, first, last) in texts.items():
            path = folder / "texts" / f"{name}.py"
            path.write_text(text, encoding="utf-8")
            self.places[name] = str(path.resolve()), first, last
        journal = Journal(folder, hashlib.sha256(source.encode()).hexdigest())
        self.ledger, self._write = journal.ledger, journal.write

    def run(self, setup: Mutating, jobs: Sequence[Job], workers: int, seconds: float) -> Spent:
        """Ask every mutant that is alive every case of one lane, until time is up.

        Args:
            jobs: the cases with the cells that the release itself is asked, in the order to ask.

        Raises:
            SurroundingsError: a worker cannot go on, or finds a difference where there is none.
        """
        began = time.monotonic()
        try:
            asyncio.run(self._all(setup, jobs, workers, began + seconds))
        except* SurroundingsError as errors:
            raise errors.exceptions[0] from None
        spent = time.monotonic() - began
        return Spent(spent, spent < seconds)

    @property
    def progress(self) -> str:
        known = self.ledger
        total = len(self.places) - 1
        alive = sum(known.alive(name) for name in self.places if name != UNCHANGED)
        return (
            f"{total} mutants: {len(known.found)} found, {len(known.unloaded)} do not import, "
            f"{alive} alive"
        )

    async def _all(self, setup: Mutating, jobs: Sequence[Job], workers: int, until: float) -> None:
        """Each worker takes a share of the mutants through all cases."""
        names = [name for name in self.places if name != UNCHANGED]

        async def lane(number: int) -> None:
            share, worker = names[number::workers], None
            try:
                for job in jobs:
                    if time.monotonic() >= until:
                        return
                    worker = await self._ask(setup, number, worker, job, share)
                    self._tell(job.case)
            finally:
                if worker is not None:
                    await worker.kill()

        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(lane(number))

    async def _ask(
        self, setup: Mutating, number: int, worker: Worker | None, job: Job, share: Sequence[str]
    ) -> Worker | None:
        """Ask one case of those of a share that are alive; a worker that dies is replaced."""
        name = f"{job.cells[0].key.lane} {job.case} {job.capture} {self._beside}".rstrip()
        left = [
            each
            for each in share
            if self.ledger.alive(each) and name not in self.ledger.asked.get(each, ())
        ]
        losses = 0
        while left:
            worker = worker or await start_ready(self._launcher, setup, number, _SILENCE_S)
            asked: dict[str, bool] = {}
            await worker.send({**job.message(), "mutants": [UNCHANGED, *left]})
            try:
                async for each, reached in self._answers(worker):
                    asked[each] = reached
                    self._tell(job.case)
                # A case that the release itself cannot be asked finds nothing.
                asked |= {each: False for each in left if each not in asked}
            except (WorkerDied, WorkerTimeout, WorkerLost) as error:
                await worker.kill()
                worker = None
                losses += isinstance(error, WorkerLost)
                if len(asked) < 2 and not (0 < losses < _LOSSES):
                    raise SurroundingsError(
                        f"a worker of {name} ended without an answer ({error or 'no answer'}); "
                        f"see {setup.log_folder}"
                    ) from error
            finally:
                asked.pop(UNCHANGED, None)
                self._write(event="asked", case=name, mutants=asked)
            left = [each for each in left if each not in asked]
        return worker

    async def _answers(self, worker: Worker) -> AsyncIterator[tuple[str, bool]]:
        """Read one job's events; yields each mutant that was asked, and whether it was reached."""
        own: dict[str, CellRecord] = {}
        while True:
            event = await worker.next_event(_SILENCE_S)
            match event["event"]:
                case "record":
                    record = cell_from_json(event["record"], "worker")
                    own[record.key.cell_id] = record
                case "mutant":
                    reached = event.get("reached", True)
                    if reached:
                        self._judge(event, own)
                    yield event["name"], reached
                case "done":
                    return

    def _judge(self, event: Mapping[str, Any], own: Mapping[str, CellRecord]) -> None:
        name = event["name"]
        if "unloaded" in event:
            self._write(event="unloaded", mutant=name, why=event["unloaded"])
            return
        found = next(_findings(event, own), None)
        if found is None:
            return
        if name == UNCHANGED:
            raise SurroundingsError(
                f"the file as it is was found by {found.case} ({found.route}): {found.reason}; "
                "what the mutants show is worth nothing until that is mended"
            )
        where = vars(dataclasses.replace(found, beside=self._beside))
        self._write(event="found", mutant=name, where=where)

    def _tell(self, case: str) -> None:
        if time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            self._say(f"{self.progress}; at {case}")


def _findings(event: Mapping[str, Any], own: Mapping[str, CellRecord]) -> Iterator[Found]:
    """What the gate says of a mutant, whose records stand where a candidate's would."""
    if "ended" in event:
        key = next(iter(own.values())).key
        yield Found(key.case, key.capture, key.lane, key.route, Oracle.COMPLETION, event["ended"])
        return
    for data in event["differs"]:
        record = cell_from_json(data, "worker")
        key = record.key
        for finding in judge_candidate(Pair(own[key.cell_id], record)).findings:
            oracle = finding.oracle or Oracle.COMPLETION
            yield Found(key.case, key.capture, key.lane, key.route, oracle, finding.reason)
