"""Which cells run the lines that a candidate changes: these find what it breaks, first of all.

`lines_run.csv` has, for lines of the newest release's package, the cells of the package lane that
run them, up to `CELLS_A_LINE` of as many cases, in the order of `order.csv`. `--quick` asks up to
`CELLS_OF_A_CHANGE` of them beside its own cells, and every run of a candidate asks them first.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.expectations import EXPECTATIONS
from harness.run.changed_lines import Changed
from harness.run.order import Ranked
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route

LINES_FILE: Final = EXPECTATIONS / "lines_run.csv"
CELLS_A_LINE: Final = 6
CELLS_OF_A_CHANGE: Final = 12
_FIELDS: Final = ("release", "file", "lines", "cells")
_CAPTURE: Final = "nonstrict"

_Cell = tuple[str, Route]  # a case and a route


@dataclass(frozen=True)
class LinesRun:
    """The cells that run each line, by file of a release's package."""

    release: str
    by_file: Mapping[str, Mapping[int, tuple[CellKey, ...]]]

    def cells_of(self, changed: Changed) -> tuple[CellKey, ...]:
        """The cells that run a statement, those first that run most of its lines."""
        lines = self.by_file.get(changed.file, {})
        runs = [lines[line] for line in range(changed.first, changed.last + 1) if line in lines]
        times = Counter(itertools.chain.from_iterable(runs))
        return tuple(cell for cell, _ in times.most_common())


def cells_of_change(known: LinesRun, changed: Iterable[Changed]) -> tuple[CellKey, ...]:
    """The cells that run what a candidate changes: the first of each statement, then the second."""
    by_statement = [known.cells_of(each) for each in changed]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*by_statement))
    return tuple(dict.fromkeys(cell for cell in in_turn if cell is not None))


def never_run(known: LinesRun, changed: Iterable[Changed]) -> tuple[str, ...]:
    """The places that a candidate changes and no cell runs, such as ``dynamo/utils.py:10``."""
    unrun = (each for each in changed if not known.cells_of(each))
    return tuple(f"{each.file}:{each.first}" for each in unrun)


def read_lines_run(path: Path = LINES_FILE) -> LinesRun:
    """The committed table."""
    by_file: dict[str, dict[int, tuple[CellKey, ...]]] = defaultdict(dict)
    release = ""
    with path.open(newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            release = row["release"]
            cells = tuple(_cell(*each.split("/")) for each in row["cells"].split())
            by_file[row["file"]].update(dict.fromkeys(_numbers(row["lines"]), cells))
    return LinesRun(release, by_file)


def lines_run_text(known: LinesRun) -> str:
    """The content of `lines_run.csv`: a row for all lines of a file that the same cells run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_FIELDS)
    for file, lines in sorted(known.by_file.items()):
        alike: dict[tuple[CellKey, ...], list[int]] = defaultdict(list)
        for line, cells in sorted(lines.items()):
            alike[cells].append(line)
        for cells, numbers in alike.items():
            named = " ".join(f"{cell.case}/{cell.route}" for cell in cells)
            rows.writerow((known.release, file, _ranges(numbers), named))
    return text.getvalue()


def lines_run_by(
    release: str, answers: Iterable[Mapping[str, Any]], order: Sequence[Ranked]
) -> LinesRun:
    """The table of what the rig saw (`harness.rig.questions.lines_run`).

    A line that compiling runs counts for the first cell of its case that saves, since all of them
    compile, and `compile` is asked beside each.
    """
    rank = {(each.cell.case, each.cell.route): number for number, each in enumerate(order)}
    seen = [(answer["case"], Route(answer["route"]), answer["lines"]) for answer in answers]
    routes: dict[str, list[Route]] = defaultdict(list)
    for case, route, _ in seen:
        routes[case].append(route)

    def place(cell: _Cell) -> tuple[bool, int, _Cell]:
        return cell[1] is Route.COMPILE, rank.get(cell, len(order)), cell

    first = {case: min(((case, route) for route in of), key=place) for case, of in routes.items()}
    by_line: dict[tuple[str, int], set[_Cell]] = defaultdict(set)
    for case, route, lines in seen:
        cell = first[case] if route is Route.COMPILE else (case, route)
        for file, numbers in lines.items():
            for number in numbers:
                by_line[file, number].add(cell)
    by_file: dict[str, dict[int, tuple[CellKey, ...]]] = defaultdict(dict)
    for (file, number), cells in by_line.items():
        best: dict[str, _Cell] = {}
        for cell in sorted(cells, key=place):
            best.setdefault(cell[0], cell)  # one cell of a case is enough
        by_file[file][number] = tuple(_cell(*cell) for cell in [*best.values()][:CELLS_A_LINE])
    return LinesRun(release, by_file)


def _cell(case: str, route: str) -> CellKey:
    return CellKey(case, _CAPTURE, "", Route(route), Lane.PACKAGE)


def _ranges(numbers: Sequence[int]) -> str:
    """``3-5 8`` for 3, 4, 5 and 8."""
    text: list[str] = []
    for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        first, *rest = (number for _, number in run)
        text.append(f"{first}-{rest[-1]}" if rest else str(first))
    return " ".join(text)


def _numbers(ranges: str) -> Iterator[int]:
    """The inverse of `_ranges`."""
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
