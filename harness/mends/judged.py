"""What is known of each mend alone: what runs have shown, and what it costs.

``judged.csv`` has a row a mend, and ``work.csv`` a row a mend and call, and those of all mends
together under the name `TOGETHER`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from harness.base.words import plural
from harness.stats.counted import Counted, cost_words

JUDGED = Path(__file__).with_name("judged.csv")
WORK = Path(__file__).with_name("work.csv")
#: What stands in the place of a mend's name where all are counted as one.
TOGETHER: Final = "all together"


@dataclass(frozen=True)
class Judged:
    """A release with one mend, held against the release as it is over the whole corpus.

    Attributes:
        digest: of the mend as it was asked (`Mend.digest`).
        run: the id of the run.
        cells: how many were compared, of both lanes.
        calls: user calls that are right now and were not; ``splits`` likewise.
        regressed: calls and splits that fail now and did not, or do more harm.
        worse: cells that do any more harm.
        left: cells in which a defect that the mend is of still shows.
    """

    mend: str
    digest: str
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

    def told_of(self, digest: str) -> str:
        """`words` of a mend with this digest, with a remark where it was judged with another."""
        return self.words if digest == self.digest else f"{self.words}; it has changed since"


@dataclass(frozen=True)
class Work:
    """How many lines of Python a call of the product runs with one mend, and without any.

    Attributes:
        torch: the version that it ran with.
        case: which model was compiled, saved and loaded.
        call: as a page names it.
    """

    mend: str
    release: str
    torch: str
    case: str
    call: str
    before: int
    after: int

    @property
    def counted(self) -> Counted:
        return Counted(self.call, self.before, self.after)


def read_judged(path: Path = JUDGED) -> dict[str, Judged]:
    """By the name of the mend. Raises KeyError or ValueError for a file of another kind."""
    return {row.mend: row for row in _rows(path, Judged)}


def read_work(path: Path = WORK) -> dict[str, list[Work]]:
    """As `read_judged`, with all calls of a mend."""
    found: dict[str, list[Work]] = {}
    for row in _rows(path, Work):
        found.setdefault(row.mend, []).append(row)
    return found


def mend_costs(work: Iterable[Work]) -> str:
    """What a mend costs, for people."""
    return cost_words(each.counted for each in work)


def _rows(path: Path, kind: type[Any]) -> Iterator[Any]:
    types = {field.name: int if field.type == "int" else str for field in fields(kind)}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield kind(**{name: of(row[name]) for name, of in types.items()})


def rows_text(kind: type[Any], rows: Iterable[Any]) -> str:
    """The text of a file of such rows, by the name of the mend."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(kind)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.mend))
    return text.getvalue()
