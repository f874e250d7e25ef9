"""Progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from harness.wire.records import CellRecord

_LINE_EVERY_S = 5.0


class TerminalProgress:
    """A bar with the last cell's verdict beside it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("cells", total=None, last="")

    def start(self, total: int, done: int) -> None:
        self._bar.start()
        self._bar.update(self._task, total=total, completed=done)

    def ended(self, record: CellRecord) -> None:
        last = f"{record.key.case} {record.key.subject} {record.label}"
        self._bar.update(self._task, advance=1, last=last)

    def say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        self._bar.stop()


class PlainProgress:
    """A line every few seconds: for a log file, and for CI."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = 0
        self._done = 0
        self._next_line = 0.0

    def start(self, total: int, done: int) -> None:
        self._total, self._done = total, done
        self.say(f"{total} cells, {total - done} to run")

    def ended(self, record: CellRecord) -> None:
        self._done += 1
        now = time.monotonic()
        if now >= self._next_line or self._done == self._total:
            self._next_line = now + _LINE_EVERY_S
            self.say(f"{self._done}/{self._total} cells ended")

    def say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Nothing to put away."""


def progress_for(console: Console) -> TerminalProgress | PlainProgress:
    """A bar on a terminal, and plain lines elsewhere."""
    return TerminalProgress(console) if console.is_terminal else PlainProgress(console)
