"""What a record says, as facts that a table can hold: one for each finding of a failed verdict.

A verdict's message joins the kinds of finding by "; ". A cell may show two defects through one
oracle, so each kind is a fact of its own, with one cause. The text of an exception, in a verdict of
`completion`, is one fact as a whole. An exception without a text is named by the place where
upstream raised it, as ``AssertionError in function: source line``, so two bare assertions are two
facts. The line's number and file move between releases and are left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from packaging.version import InvalidVersion, Version

from harness.wire.builders import PINNED, SEGMENT, Environment
from harness.wire.oracles import PACKING, Harm, Oracle
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState

#: What stands in a fact's ``oracle`` where the question could not be asked.
UNSUPPORTED: Final = CellState.UNSUPPORTED
NONSTRICT: Final = "nonstrict"
#: The subjects whose names are no versions.
NAMED_SUBJECTS: Final = ("name-matching", "positional", "torch")

_WRONG_NUMBERS: Final = (Harm.SILENT, Harm.WARNED)
_SIZES_READ: Final = ("reads another size", "reads a parameter or constant in place of a size")
_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(r"(type '[^']*')|(?<!\w)(?:'[^']*'|\"[^\"]*\"|`[^`]*`)(?!\w)")
_KEEPS_QUOTES = re.compile(r"has no attribute|has no setter|cannot assign")
_BARE = re.compile(r"\w+")  # the type of an exception that has no text
_RAISED = re.compile(r"(?P<function>\S+) \(.*?:\d+\): (?P<source>.+)")
#: The input of a guard that failed, which torch names as the program or as it counts them.
GUARDED: Final = re.compile(r"(?<=Guard failed: )\w+(?=\.size\(\))")
_NODE_IN_FULL = re.compile(r"(?<=^SerializeError: Failed serializing node ).*", re.DOTALL)


@dataclass(frozen=True, order=True)
class Fact:
    """One finding, free of numbers and of names in quotes.

    ``oracle`` is an `Oracle`'s value or ``unsupported``; ``fails`` is ``symptom@stage``, and empty
    for the latter. ``harm`` is empty in records of before harm was judged.
    """

    oracle: str
    fails: str
    says: str
    harm: str = ""

    @property
    def seen(self) -> tuple[str, str, str]:
        """What identifies the fact; its harm does not."""
        return self.oracle, self.fails, self.says

    @property
    def stage(self) -> str:
        return self.fails.partition("@")[2]

    @property
    def is_packing(self) -> bool:
        """Whether what is returned is packed otherwise, which says nothing of its numbers."""
        return self.oracle == Oracle.VALUES and self.says.rpartition(": ")[2] in PACKING

    @property
    def is_of_a_size(self) -> bool:
        """Whether a wire differs by a size alone, as where a size was made a constant."""
        return self.oracle == Oracle.WIRING and self.says in _SIZES_READ

    @property
    def own_harm(self) -> str:
        """Its harm, where ``harm`` is that of the worst finding of its verdict."""
        wrong_numbers = self.harm in _WRONG_NUMBERS
        return Harm.INTERFACE if self.is_packing and wrong_numbers else self.harm

    @property
    def text(self) -> str:
        return f"{self.oracle} {self.fails}: {self.says}" if self.fails else self.says


@dataclass(frozen=True, order=True)
class Place:
    """A cell's coordinates without its subject, as a table names them.

    The engine lane's cells are the package lane's with another builder, because what is known of a
    whole package does not depend on who runs its engines. A release asks for a torch of one minor
    version, whichever patch, so that an environment is a series of torches, such as `torch-2.14`.
    """

    lane: str
    case: str
    capture: str
    route: str
    builder: str = SEGMENT
    environment: str = PINNED

    @property
    def settings(self) -> tuple[str, str, str]:
        return self.capture, self.builder, self.environment


def place_of(key: CellKey) -> Place:
    lane = Lane.PACKAGE if key.lane == Lane.ENGINE else key.lane
    environment = Environment(key.environment).series
    return Place(lane, key.case, key.capture, key.route, key.builder, environment)


def facts_of(record: CellRecord) -> tuple[Fact, ...]:
    """The facts of an ended cell that a gate judges, or why it could not be asked."""
    if record.state is CellState.UNSUPPORTED:
        return (Fact(UNSUPPORTED, "", masked(record.reason)),)
    return tuple(dict.fromkeys(fact for v in record.failures for fact in facts_in(v)))


def facts_in(verdict: Verdict) -> Iterator[Fact]:
    """The facts of one failed verdict."""
    harm = verdict.harm or ""
    whole = verdict.oracle is Oracle.COMPLETION
    for said in [_told(verdict)] if whole else verdict.message.split("; "):
        yield Fact(verdict.oracle, verdict.label, masked(said), harm)


def _told(verdict: Verdict) -> str:
    """What was raised; for an empty text also the function and the source line that raised it."""
    raised = _RAISED.fullmatch(verdict.raised)
    if raised is None or not _BARE.fullmatch(verdict.message):
        return verdict.message
    return f"{verdict.message} in {raised['function']}: {raised['source']}"


@functools.cache
def masked(text: str) -> str:
    """A finding without its numbers, and without the names that it quotes or guards.

    Types and attributes keep their names: they tell one defect from another.
    """
    line = GUARDED.sub("*", _NODE_IN_FULL.sub("*", " ".join(text.split())))
    if not _KEEPS_QUOTES.search(line):
        line = _QUOTED.sub(lambda found: found[1] or "'*'", line)
    return _DIGITS.sub("#", line)


@functools.cache
def parsed_version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
