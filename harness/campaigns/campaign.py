"""A campaign: blueprints are drawn and judged until time is up; what is new is shrunk and kept.

A failure that bears the signs of a known defect is counted and let go. The first that bears none
is raised, so that Hypothesis shrinks it while the same cell shows the same fact. From then on it is
known to the campaign, and counted.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, target
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky

from corpus.blueprints.blueprint import Blueprint, from_json, to_json
from harness.campaigns.drawing import blueprints
from harness.campaigns.judge import Answer, Judge
from harness.register.defects import Register
from harness.register.facts import UNSUPPORTED, Fact, facts_of, place_of
from harness.wire.oracles import Harm
from harness.wire.records import CellKey

_EXAMPLES_A_ROUND: Final = 200

Pair = frozenset[str]


@dataclass(frozen=True)
class Cause:
    """What has to stay as it is while a blueprint shrinks: a fact of one cell."""

    subject: str
    route: str
    fact: Fact

    @property
    def text(self) -> str:
        return f"{self.subject} by {self.route}: {self.fact.text}"


@dataclass(frozen=True)
class Find:
    """A failure that no known defect explains, and the smallest blueprint that shows it."""

    cause: Cause
    blueprint: Blueprint


class _NewFailure(Exception):
    """What Hypothesis shrinks."""


class _TimeIsUp(BaseException):
    """Ends a round; Hypothesis lets it through."""


class Campaign:
    """What a campaign has seen so far; all of it is in its journal."""

    def __init__(
        self,
        judge: Judge,
        cells: tuple[CellKey, ...],
        register: Register,
        folder: Path,
        seed_: int = 0,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._judge = judge
        self._cells = cells
        self._register = register
        self._seed = seed_
        self._say = say
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._started = self._ends = time.monotonic()
        self._told = 0.0
        self.programs = 0
        self.not_asked = 0
        self.rounds = 0
        self.pairs: set[Pair] = set()
        self.known: Counter[str] = Counter()
        self.finds: dict[Cause, Find] = {}
        self.broken: list[str] = []
        self._spent_s = 0.0
        self._shrinking: Cause | None = None
        self._smallest: Find | None = None
        self._resume()
        self._journal = (folder / "journal.jsonl").open("a", encoding="utf-8")

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
            f"space; {len(self.known)} known defects met; {len(self.finds)} new failures"
        )

    def _round(self) -> None:
        self._shrinking = self._smallest = None
        self.rounds += 1

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
        @given(blueprints())
        def judge(blueprint: Blueprint) -> None:
            self._judge_one(blueprint)

        with contextlib.suppress(_NewFailure, Flaky):  # what it found is kept below
            judge()
        self._keep()
        self._write("round")

    def _judge_one(self, blueprint: Blueprint) -> None:
        if time.monotonic() >= self._ends:
            raise _TimeIsUp
        wanted = self._shrinking
        cells = [
            key
            for key in self._cells
            if wanted is None or (key.subject, key.route) == (wanted.subject, wanted.route)
        ]
        answer = self._judge.ask(blueprint, cells, values=wanted is None)
        if wanted is None:
            self.programs += 1
            self._cover(answer)
        causes = self._unknown(answer, count=wanted is None)
        if wanted is None and causes:
            wanted = self._shrinking = causes[0]
        if wanted in causes:
            self._smallest = Find(wanted, blueprint)
            raise _NewFailure(wanted.text)

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
                cause = Cause(subject, record.key.route, fact)
                if cause not in self.finds:
                    unknown.append(cause)
        return sorted(unknown, key=lambda cause: Harm(cause.fact.harm or Harm.ERROR).severity)

    def _keep(self) -> None:
        """Keep the smallest blueprint of what was just shrunk."""
        if self._smallest is None:
            return
        find, self._smallest = self._smallest, None
        self.finds[find.cause] = find
        self._write("found", cause=_plain(find.cause), blueprint=to_json(find.blueprint))
        self._say(f"new: {find.cause.text}")

    def _write(self, event: str, **more: Any) -> None:
        line = {
            "event": event,
            "seconds": round(time.monotonic() - self._started, 1),
            "programs": self.programs,
            "rounds": self.rounds,
            "pairs_covered": len(self.pairs),
            "known": len(self.known),
            "found": len(self.finds),
            **more,
        }
        self._journal.write(json.dumps(line) + "\n")
        self._journal.flush()

    def _resume(self) -> None:
        """Go on where the journal ends; a last line that was cut off is left out."""
        path = self._folder / "journal.jsonl"
        for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            self._spent_s = line["seconds"]
            self.programs, self.rounds = line["programs"], line["rounds"]
            self.pairs |= {frozenset(pair) for pair in line.get("pairs", ())}
            if "defect" in line:
                self.known[line["defect"]] += 1
            if "cause" in line:
                cause = _cause(line["cause"])
                self.finds[cause] = Find(cause, from_json(line["blueprint"]))


def _plain(cause: Cause) -> dict[str, str]:
    fact = cause.fact
    return {
        "subject": cause.subject,
        "route": str(cause.route),
        "oracle": fact.oracle,
        "fails": fact.fails,
        "says": fact.says,
        "harm": fact.harm,
    }


def _cause(data: Mapping[str, str]) -> Cause:
    fact = Fact(data["oracle"], data["fails"], data["says"], data["harm"])
    return Cause(data["subject"], data["route"], fact)
