"""The changed lines that new failures name, as annotations of a GitHub job. Pure.

GitHub shows ten warnings of a step, so no more are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from harness.base.words import plural
from harness.register.where import lines_of, where_in
from harness.report.pull_request import Kind

MOST: Final = 10
_SOURCES: Final = "py/torch_tensorrt"


@dataclass(frozen=True)
class Annotation:
    """A message beside changed lines of a file, which is named by its path in the repository."""

    file: str
    first: int
    last: int
    title: str
    message: str

    @property
    def place(self) -> str:
        """``file:line``, or ``file:first-last``."""
        last = f"-{self.last}" if self.last != self.first else ""
        return f"{self.file}:{self.first}{last}"

    @property
    def command(self) -> str:
        """The line of a job's log that makes it."""
        place = f"file={_property(self.file)},line={self.first},endLine={self.last}"
        return f"::warning {place},title={_property(self.title)}::{_data(self.message)}"


def annotated(
    new: Sequence[Kind], before: Mapping[str, str], now: Mapping[str, str]
) -> list[Annotation]:
    """Where the change made what is new, as far as that is known.

    What names no changed function, in a change of one file, stands at that file's first change.

    Args:
        before, now: the sources of the base and of the candidate that are not alike, by their path
            in the package.
    """
    changed = {file: changed_lines(before.get(file, ""), text) for file, text in now.items()}
    changed = {file: lines for file, lines in changed.items() if lines}
    found: list[Annotation] = []
    for kind in new:
        places = dict.fromkeys(_places(kind.where, changed, now))
        if not places and len(changed) == 1:
            ((file, lines),) = changed.items()
            places = dict.fromkeys([(file, *_stretches(lines)[0])])
        found += [_annotation(kind, *place) for place in places]
    return found[:MOST]


def changed_lines(before: str, now: str) -> list[int]:
    """The lines that are new or other, from 1; for lines left out, the one behind them."""
    old, new = before.splitlines(), now.splitlines()
    lines: dict[int, None] = {}
    for tag, _, _, first, behind in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            lines[min(first + 1, max(len(new), 1))] = None
        elif tag != "equal":
            lines |= dict.fromkeys(range(first + 1, behind + 1))
    return sorted(lines)


def _places(
    where: Iterable[str], changed: Mapping[str, Sequence[int]], now: Mapping[str, str]
) -> Iterator[tuple[str, int, int]]:
    """The changed stretches of the functions that are named."""
    for place in filter(None, map(where_in, where)):
        for first, last in lines_of(place.function, now.get(place.file, "")):
            inside = [line for line in changed.get(place.file, ()) if first <= line <= last]
            for stretch in _stretches(inside):
                yield (place.file, *stretch)


def _stretches(lines: Sequence[int]) -> list[tuple[int, int]]:
    """Lines that follow each other, by their ends."""
    found: list[tuple[int, int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1] = found[-1][0], line
        else:
            found.append((line, line))
    return found


def _annotation(kind: Kind, file: str, first: int, last: int) -> Annotation:
    cells = plural(len(kind.keys), "cell")
    message = f"{kind.title} ({cells}, such as {kind.first.case} by {kind.calls[0]})"
    title = f"Since this change {kind.seen}"
    return Annotation(f"{_SOURCES}/{file}", first, last, title, message)


def _data(words: str) -> str:
    """A text as a workflow command takes it, on one line."""
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")
