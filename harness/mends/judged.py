"""What runs of one mend each have shown: ``judged.csv``, a row a mend."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.base.words import plural

JUDGED = Path(__file__).with_name("judged.csv")


@dataclass(frozen=True)
class Judged:
    """A release with one mend, held against the release as it is over the whole corpus.

    Attributes:
        run: the id of the run.
        cells: how many were compared, of both lanes.
        calls: user calls that are right now and were not; ``splits`` likewise.
        regressed: calls and splits that fail now and did not, or do more harm.
        worse: cells that do any more harm.
        left: cells in which a defect that the mend is of still shows.
    """

    mend: str
    release: str
    run: str
    cells: int
    calls: int
    splits: int
    regressed: int
    worse: int
    left: int

    @property
    def words(self) -> str:
        """What the run said, for people: ``3 user calls and 1 split are right that were not``."""
        parts = [
            plural(count, what)
            for count, what in ((self.calls, "user call"), (self.splits, "split"))
            if count
        ]
        one = self.calls + self.splits == 1
        told = " and ".join(parts) or "no call and no split"
        better = f"{told} {'is' if one or not parts else 'are'} right that "
        better += f"{'was' if one or not parts else 'were'} not"
        worse = plural(self.worse, "cell") if self.worse else "nothing"
        left = f"; the defect is left in {plural(self.left, 'cell')}" if self.left else ""
        are = "are" if self.worse > 1 else "is"
        return f"over {plural(self.cells, 'cell')}, {better}; {worse} {are} worse{left}"


def read_judged(path: Path = JUDGED) -> dict[str, Judged]:
    """By the name of the mend. Raises KeyError or ValueError for a file of another kind."""
    names = ("cells", "calls", "splits", "regressed", "worse", "left")
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            Judged(row["mend"], row["release"], row["run"], *(int(row[name]) for name in names))
            for row in csv.DictReader(file)
        ]
    return {row.mend: row for row in rows}


def judged_text(rows: Iterable[Judged]) -> str:
    """The file's text, by name."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Judged)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.mend))
    return text.getvalue()
