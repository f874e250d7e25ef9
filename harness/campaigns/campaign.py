"""A campaign: programs are drawn and judged until time is up; what is new is shrunk and kept.

A failure that bears the signs of a known defect is counted and let go, and so is one that plain
`torch.export` of the program shows as well. The first that is neither is raised, so that
Hypothesis shrinks it while the same cell shows the same fact. From then on that fact, and whatever
else its smallest program shows, is known to the campaign as one cause.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky

from corpus.blueprints.blueprint import Blueprint, from_json, to_json
from corpus.drawn.model import NAME as MODEL
from corpus.drawn.model import DrawnModel
from harness.campaigns.differential import Ways, differences
from harness.campaigns.drawing import NAME, blueprints
from harness.campaigns.judge import Answer, Judge
from harness.campaigns.lines import journal_lines, opened_journal
from harness.campaigns.models import models
from harness.gate.control import control_failures
from harness.register.defects import Register
from harness.register.facts import NONSTRICT, UNSUPPORTED, Fact, Place, facts_of, place_of
from harness.subjects.specs import TORCH_SUBJECT
from harness.wire.oracles import Harm
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route

_EXAMPLES_A_ROUND: Final = 200
#: A round ends when nothing to judge was drawn for so long: Hypothesis climbs by tries that are no
#: programs, for five minutes where a program has hundreds of choices.
_STUCK_S: Final = 20.0

#: The name, among the known defects that were met, of what plain `torch.export` fails by as well.
TORCHS_OWN: Final = "torch's own"

Pair = frozenset[str]


@dataclass(frozen=True)
class Kind:
    """One kind of programs: how they are drawn and written. ``name`` is that of a worker's job."""

    name: str
    case: str
    strategy: Callable[[], st.SearchStrategy[Any]]
    to_json: Callable[[Any], dict[str, Any]]
    from_json: Callable[[Any], Any]
    size: Callable[[Any], str]


BLUEPRINTS: Final = Kind(
    "blueprint", NAME, blueprints, to_json, from_json, lambda one: f"{len(one.steps)} steps"
)
MODELS: Final = Kind(
    "model",
    MODEL,
    models,
    DrawnModel.to_json,
    DrawnModel.from_json,
    lambda one: f"{len(one.source.splitlines())} lines",
)
KINDS: Final = {kind.name: kind for kind in (MODELS, BLUEPRINTS)}


@dataclass(frozen=True)
class Cause:
    """What has to stay as it is while a program shrinks: a fact of one cell."""

    subject: str
    route: str
    fact: Fact
    lane: str = Lane.GRAPH

    def place(self, case: str) -> Place:
        return Place(self.lane, case, NONSTRICT, self.route)

    @property
    def symptom(self) -> str:
        return self.fact.fails.partition("@")[0]

    @property
    def text(self) -> str:
        return f"{self.subject} by {self.lane}/{self.route}: {self.fact.text}"


@dataclass(frozen=True)
class Find:
    """A failure that no known defect explains, and the smallest program that shows it.

    ``also`` are the other failures of that program which no known defect explains.
    """

    cause: Cause
    kind: Kind
    program: Blueprint | DrawnModel
    also: tuple[Cause, ...] = ()

    @property
    def text(self) -> str:
        more = f", and {len(self.also)} more of its cells" if self.also else ""
        return f"{self.cause.text} ({self.kind.size(self.program)}{more})"


class _NewFailure(Exception):
    """What Hypothesis shrinks."""


class _TimeIsUp(BaseException):
    """Ends a campaign; Hypothesis lets it through."""


class _Stuck(BaseException):
    """Ends a round."""


class Campaign:
    """What a campaign has seen so far; all of it is in its journal.

    ``cells`` are those that each kind of program is judged by; the kinds take turns. ``ways``
    are the lanes and routes by which each defect shows, as `differences` takes them.
    """

    def __init__(
        self,
        judge: Judge,
        cells: Mapping[str, tuple[CellKey, ...]],
        register: Register,
        folder: Path,
        seed_: int = 0,
        say: Callable[[str], None] = lambda line: None,
        *,
        ways: Ways,
    ) -> None:
        self._judge = judge
        self._cells = cells
        self._register = register
        self._ways = ways
        self._seed = seed_
        self._say = say
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._started = self._ends = time.monotonic()
        self._told = self._judged = 0.0
        self.programs = 0
        self.not_asked = 0
        self.rounds = 0
        self.pairs: set[Pair] = set()
        self.known: Counter[str] = Counter()
        self.finds: dict[Cause, Find] = {}
        self.differs: dict[str, str] = {}
        self._met: set[tuple[str, str, str]] = set()
        self.broken: list[str] = []
        self._spent_s = 0.0
        self._shrinking: Cause | None = None
        self._smallest: Find | None = None
        self._resume()
        self._journal = opened_journal(folder)

    def run(self, seconds: float) -> None:
        """Draw and judge for so long."""
        self._started = time.monotonic() - self._spent_s
        self._ends = time.monotonic() + seconds
        try:
            while time.monotonic() < self._ends:
                self._round()
        except _TimeIsUp:
            pass
        finally:
            self._keep()
            self._write("end")
            self._journal.close()

    @property
    def progress(self) -> str:
        rate = self.programs / max(time.monotonic() - self._started, 0.001)
        return (
            f"{self.programs:,} programs, {rate:.1f} a second; {len(self.pairs):,} pairs of the "
            f"space; {len(self.known)} known defects met; {len(self.finds)} new failures; "
            f"{len(self.differs)} differences"
        )

    def _round(self) -> None:
        self._shrinking = self._smallest = None
        names = [name for name in KINDS if name in self._cells]
        kind = KINDS[names[self.rounds % len(names)]]
        self.rounds += 1
        self._judged = time.monotonic()

        @st.composite
        def drawn(draw: st.DrawFn) -> Any:
            if time.monotonic() - self._judged > _STUCK_S:
                raise _Stuck
            return draw(kind.strategy())

        @seed(self._seed * 1_000_003 + self.rounds)
        @settings(
            max_examples=_EXAMPLES_A_ROUND,
            database=DirectoryBasedExampleDatabase(self._folder / "examples"),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            phases=(Phase.reuse, Phase.generate, Phase.target, Phase.shrink),
            verbosity=Verbosity.quiet,
        )
        @given(drawn())
        def judge(program: Any) -> None:
            self._judge_one(kind, program)

        with contextlib.suppress(_NewFailure, Flaky, _Stuck):  # what it found is kept below
            judge()
        self._keep()
        self._write("round")

    def _judge_one(self, kind: Kind, program: Any) -> None:
        if time.monotonic() >= self._ends:
            raise _TimeIsUp
        wanted = self._shrinking
        answer = self._ask(kind, program, wanted)
        causes = self._unknown(answer, count=wanted is None)
        causes = self._but_torchs_own(kind, program, causes, count=wanted is None)
        if wanted is None:
            self.programs += 1
            self._cover(answer)
            self._compare(answer, kind, program)
            if causes:
                wanted = self._shrinking = causes[0]
        if wanted in causes:
            self._smallest = Find(wanted, kind, program)
            # A kill while it shrinks leaves what it is by now.
            self._write("smaller", **self._plain(self._smallest))
            raise _NewFailure(wanted.text)

    def _ask(self, kind: Kind, program: Any, wanted: Cause | None) -> Answer:
        dynamic = kind is MODELS and bool(program.dynamic)
        cells = [
            key
            for key in self._cells[kind.name]
            if (dynamic or not Route(key.route).row.dynamic)
            and (wanted is None or self._of(key) == (wanted.subject, wanted.route, wanted.lane))
        ]
        job = {kind.name: kind.to_json(program)}
        answer = self._judge.ask(job, cells, values=wanted is None)
        self._judged = time.monotonic()
        return answer

    @staticmethod
    def _of(key: CellKey) -> tuple[str, str, str]:
        return key.subject, key.route, key.lane

    def _compare(self, answer: Answer, kind: Kind, program: Any) -> None:
        """Tell the first program of each difference that the register does not explain."""
        for difference in differences(answer.records, self._register, self._ways):
            if difference not in self.differs:
                self.differs[difference] = kind.name
                self._write(
                    "differs", difference=difference, kind=kind.name, program=kind.to_json(program)
                )

    def _cover(self, answer: Answer) -> None:
        before = len(self.pairs), len(self.known)
        ordered = sorted(answer.values)
        new = {
            frozenset(pair)
            for pair in itertools.combinations(ordered, 2)
            if pair[0].partition("/")[0] != pair[1].partition("/")[0]
        } - self.pairs
        target(float(len(new)), label="pairs of the space that no program had")
        self.pairs |= new
        if answer.broken:
            self.broken += answer.broken
            self._write("broken", tracebacks=answer.broken)
        if len(self.pairs) != before[0]:
            self._write("pairs", pairs=sorted(sorted(pair) for pair in new))
        if time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            self._say(self.progress)

    def _unknown(self, answer: Answer, *, count: bool) -> list[Cause]:
        """What no known defect explains, the worst harm first."""
        unknown: list[Cause] = []
        for record in answer.records:
            for fact in facts_of(record):
                if fact.oracle == UNSUPPORTED:
                    self.not_asked += count
                    continue
                subject = record.key.subject
                named = self._register.candidates(place_of(record.key), fact, [subject])
                if named:
                    if count and named[0].id not in self.known:
                        self._write("known", defect=named[0].id)
                    self.known[named[0].id] += count
                    continue
                if fact.seen not in self._met:
                    unknown.append(Cause(subject, record.key.route, fact, record.key.lane))
        return sorted(unknown, key=lambda cause: Harm(cause.fact.harm or Harm.ERROR).severity)

    def _but_torchs_own(
        self, kind: Kind, program: Any, causes: list[Cause], *, count: bool
    ) -> list[Cause]:
        """The causes by which plain `torch.export` of the same program does not fail as well."""
        if not causes or not self._judge.has_graph_lane:
            return causes
        control = CellKey(kind.case, NONSTRICT, TORCH_SUBJECT, Route.PLAIN)
        answer = self._judge.ask({kind.name: kind.to_json(program)}, [control], values=False)
        fails = set().union(*control_failures(answer.records).values())
        own = [cause for cause in causes if (cause.fact.oracle, cause.symptom) in fails]
        if own and count:
            self.known[TORCHS_OWN] += 1
        return [cause for cause in causes if cause not in own]

    def _keep(self) -> None:
        """Keep the smallest program of what was just shrunk, with all that it shows."""
        if self._smallest is None:
            return
        find, self._smallest = self._smallest, None
        if time.monotonic() < self._ends:
            shown = self._unknown(self._ask(find.kind, find.program, None), count=False)
            shown = self._but_torchs_own(find.kind, find.program, shown, count=False)
            also = tuple(cause for cause in shown if cause != find.cause)
            find = dataclasses.replace(find, also=also)
        self._add(find)
        self._write("found", **self._plain(find))
        self._say(f"new: {find.text}")

    def _add(self, find: Find) -> None:
        self.finds[find.cause] = find
        self._met |= {cause.fact.seen for cause in (find.cause, *find.also)}

    @staticmethod
    def _plain(find: Find) -> dict[str, Any]:
        return {
            "cause": dataclasses.asdict(find.cause),
            "also": [dataclasses.asdict(cause) for cause in find.also],
            "kind": find.kind.name,
            "program": find.kind.to_json(find.program),
        }

    def _write(self, event: str, **more: Any) -> None:
        line = {
            "event": event,
            "seconds": round(time.monotonic() - self._started, 1),
            "programs": self.programs,
            "rounds": self.rounds,
            "pairs_covered": len(self.pairs),
            "known": len(self.known),
            "met": self.known,  # how often each, which a campaign that goes on counts on
            "found": len(self.finds),
            **more,
        }
        self._journal.write(json.dumps(line) + "\n")
        self._journal.flush()

    def _resume(self) -> None:
        """Go on where the journal ends; a last line that was cut off is left out."""
        for line in journal_lines(self._folder):
            self._spent_s = line["seconds"]
            self.programs, self.rounds = line["programs"], line["rounds"]
            self.pairs |= {frozenset(pair) for pair in line.get("pairs", ())}
            self.known = Counter(line.get("met", self.known))
            if "defect" in line:  # the first time that it is met
                self.known[line["defect"]] += 1
            if "difference" in line:
                self.differs[line["difference"]] = line["kind"]
            if "cause" in line:
                kind = KINDS[line["kind"]]
                also = tuple(map(_cause, line["also"]))
                program = kind.from_json(line["program"])
                self._add(Find(_cause(line["cause"]), kind, program, also))


def _cause(data: Mapping[str, Any]) -> Cause:
    return Cause(data["subject"], data["route"], Fact(**data["fact"]), data["lane"])
