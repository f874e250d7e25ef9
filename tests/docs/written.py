"""What README and docs print: commands, and transcripts of what they answer.

A transcript is a fenced block that begins with `$ `: a command, and what it prints. A line `...`
stands for any lines, and `...` within a line for any text.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:python -m harness|inliner-regress|nox -s) .*")


@dataclass(frozen=True)
class Command:
    """A command as a page prints it: ``nox -s NAME -- ...`` or ``python -m harness NAME ...``."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


@dataclass(frozen=True)
class Transcript:
    """A command, and the lines that a page says it prints."""

    page: str
    command: str
    printed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.command}"


def commands() -> Iterator[Command]:
    """Every command of a block, and of a text in `code`."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        spans = re.findall(r"`([^`\n]+)`", text)
        blocks = [line for line in text.splitlines() if line.startswith(("    ", "$ "))]
        for line in [*spans, *blocks]:
            if found := _COMMAND.search(line):
                words = shlex.split(found[0].partition(" # ")[0], comments=False)
                yield Command(page.name, tuple(words))


def transcripts() -> Iterator[Transcript]:
    for page in PAGES:
        for block in _FENCE.findall(page.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *printed = part.rstrip().splitlines()
                yield Transcript(page.name, command, tuple(printed))


def differs(printed: tuple[str, ...], said: str) -> str:
    """The first printed line that a program did not say in its place; empty if it said them all."""
    position = 0
    for line in printed:
        if line.strip() == "...":
            continue
        found = re.compile(f"^{'.*'.join(map(re.escape, line.split('...')))}$", re.MULTILINE)
        match = found.search(said, position)
        if match is None:
            return line
        position = match.end()
    return ""
