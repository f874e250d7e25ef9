"""What a replay says of a commit: in each lane, in a word, and what a person found out."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.toml_table import TomlTable
from harness.expectations import EXPECTATIONS
from harness.toolchain.checkout import SOURCES, Commit
from harness.wire.routes import Lane

#: What the project is about, of a clone: inlining and saving, and what decides what they are given.
PATHS: Final = tuple(
    f"{SOURCES}/{name}"
    for name in ("dynamo/_exporter.py", "_compile.py", "dynamo/partitioning", "dynamo/lowering")
)
REVIEWS: Final = EXPECTATIONS / "replay.toml"
#: By so many digits a commit is named in the file of reviews.
DIGITS: Final = 10


class State(enum.StrEnum):
    """What became of a commit in one lane."""

    ASKED = "asked"
    ALIKE = "nothing that this lane sees"
    UNASKED = "could not be asked"
    WAITING = "not asked yet"


#: The words that a person has for a commit.
KINDS: Final = ("breakage", "false alarm", "missing case", "no fix")


@dataclass(frozen=True)
class InLane:
    """A commit in one lane: what it mends and what it breaks, of the cells that both were asked.

    ``alarms`` are what would turn the gate red too, in cells that do no more harm than before.
    """

    lane: Lane
    state: State
    reason: str = ""
    cells: int = 0
    mends: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replayed:
    """A commit held against its parent; ``release`` is what both stand in the place of.

    ``kind`` and ``reason`` are what a person found out about it, of `KINDS`; empty if nobody did.
    """

    commit: Commit
    release: str
    lanes: tuple[InLane, ...]
    kind: str = ""
    reason: str = "not reviewed"

    @property
    def verdict(self) -> str:
        """A fix, a breakage or a false alarm, or both; or else neither, or why it is not known."""
        states = {each.state for each in self.lanes}
        words = ["fix"] if self.all_of("mends") else []
        breaks, alarms = self.all_of("breaks"), self.all_of("alarms")
        if breaks or alarms:
            broken = self.kind != "false alarm" if breaks else self.kind == "breakage"
            words.append("breakage" if broken else "false alarm")
        if not words and State.ASKED not in states and states != {State.ALIKE}:
            return State.WAITING if State.WAITING in states else State.UNASKED
        return " and ".join(words) or "neither"

    def all_of(self, name: str) -> list[str]:
        """A field of all lanes."""
        return [text for each in self.lanes for text in getattr(each, name)]

    @property
    def on_exporter(self) -> bool:
        """Whether it touches the inliner's own file."""
        return PATHS[0] in self.commit.paths


def read_reviews(path: Path = REVIEWS) -> dict[str, tuple[str, str]]:
    """What a person found out, a kind and a reason, by the first ten digits of a commit."""
    reviews = {}
    for table in TomlTable.all_of_file(path, 1, "commit"):
        digits = table.text("id", lambda text: len(text) == DIGITS)
        reviews[digits] = (table.text("kind", KINDS.__contains__), table.text("reason"))
        table.nothing_else()
    return reviews
