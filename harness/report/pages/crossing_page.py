"""A crossing as a table, a row for each saver and a column for each loader: HTML and markdown.

And as one typed table, a row a pair, for CSV and Parquet.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from harness.crossing.judge import (
    NOT_SAVED,
    OK,
    UNSUPPORTED,
    FailureClass,
    JudgedCrossing,
    JudgedPair,
)
from harness.gate.findings import CellClass, Gate
from harness.report import style
from harness.report.pages.rendering import render
from harness.report.text import joined, plural
from harness.wire.oracles import Harm, Symptom

_TONES: Final = {
    OK: "ok",
    Symptom.WRONG_VALUES.value: Harm.SILENT.value,
    NOT_SAVED: "missing",
    UNSUPPORTED: "unsupported",
}
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COLUMNS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("saver", "loader", "case", "route", "outcome")),
        *((name, pa.string()) for name in ("message", "detail", "saver_torch", "loader_torch")),
        ("archive_bytes", pa.int64()),
        ("load_s", pa.float64()),
        ("run_s", pa.float64()),
        ("standing", pa.string()),
        ("listed", pa.string()),
    ]
)


@dataclass(frozen=True)
class Square:
    """All pairs of one saver and one loader.

    ``counts`` has the outcomes of its pairs, as they are told, worst first.
    """

    saver: str
    loader: str
    pairs: tuple[JudgedPair, ...]

    @property
    def counts(self) -> dict[str, int]:
        outcomes = sorted((each.pair.outcome for each in self.pairs), key=_badness)
        return {outcome: outcomes.count(outcome) for outcome in outcomes}

    @property
    def worst(self) -> str:
        return next(iter(self.counts))

    @property
    def listed(self) -> tuple[str, ...]:
        """The ids of the classes by which its pairs fail as expected, each once."""
        as_listed = [each for each in self.pairs if each.standing is CellClass.EXPECTED_FAILURE]
        return tuple(dict.fromkeys(each.listed.id for each in as_listed if each.listed))

    @property
    def unexpected(self) -> int:
        return sum(each.unexpected for each in self.pairs)


def squares(judged: JudgedCrossing) -> tuple[tuple[Square, ...], ...]:
    """The table: a row for each saver and a column for each loader, in the order of the pairs."""
    by: dict[tuple[str, str], list[JudgedPair]] = {}
    for each in judged.pairs:
        by.setdefault((each.pair.saver, each.pair.loader), []).append(each)
    savers = dict.fromkeys(saver for saver, _ in by)
    loaders = dict.fromkeys(loader for _, loader in by)
    return tuple(
        tuple(Square(saver, loader, tuple(by[saver, loader])) for loader in loaders)
        for saver in savers
    )


def _badness(outcome: str) -> tuple[int, str]:
    """The sort key of an outcome: silent failures first, then errors, then unasked, then right."""
    order = {"wrong-values": 0, NOT_SAVED: 2, UNSUPPORTED: 3, OK: 4}
    return order.get(outcome, 1), outcome


@dataclass(frozen=True)
class CrossingView:
    """What the page says of one crossing.

    ``releases`` has of each release that could be asked its ``torch``, ``tensorrt`` and ``abi``.
    """

    judged: JudgedCrossing
    classes: tuple[FailureClass, ...]
    releases: Mapping[str, Mapping[str, str]]
    provenance: Mapping[str, Any]

    @property
    def rows(self) -> tuple[tuple[Square, ...], ...]:
        return squares(self.judged)

    @property
    def loaders(self) -> list[str]:
        return [square.loader for square in self.rows[0]] if self.rows else []

    @property
    def met(self) -> list[tuple[str, FailureClass, int]]:
        """The classes that some pair met: letter, class, and in how many pairs.

        Letters go by the place in the file, so that two crossings mean the same by one.
        """
        met = [
            each.listed
            for each in self.judged.pairs
            if each.standing is CellClass.EXPECTED_FAILURE and each.listed
        ]
        lettered = zip(itertools.cycle(_LETTERS), self.classes, strict=False)
        return [(letter, each, met.count(each)) for letter, each in lettered if each in met]

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(each.pair.case for each in self.judged.pairs))

    @property
    def routes(self) -> list[str]:
        return list(dict.fromkeys(each.pair.route for each in self.judged.pairs))

    def pin(self, release: str, what: str) -> str:
        """A release's ``torch``, ``tensorrt`` or ``abi``."""
        return self.releases[release][what] if release in self.releases else "\u2013"

    def letters(self, square: Square) -> str:
        """The letters of the classes by which a square's pairs fail."""
        return "".join(letter for letter, each, _ in self.met if each.id in square.listed)

    def tone(self, square: Square) -> str:
        return _TONES.get(square.worst, Harm.ERROR.value)

    def short(self, square: Square) -> str:
        """A square in a few characters: sign and count, and by which class it fails."""
        sign, letters = style.SIGNS[self.tone(square)], self.letters(square)
        counts = square.counts
        text = f"{sign} {letters or counts[square.worst]}"
        if len(counts) > 1 and OK in counts:
            text += f", {style.SIGNS['ok']} {counts[OK]}"
        return text

    def sentence(self, square: Square) -> str:
        """A square in words, for a screen reader and for a mouse that rests on it."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in square.counts.items())
        listed = f", as listed: {joined(square.listed)}" if square.listed else ""
        odd = f", {square.unexpected} UNEXPECTED" if square.unexpected else ""
        return f"saved by {square.saver}, loaded by {square.loader}: {counts}{listed}{odd}"


def headline(judged: JudgedCrossing) -> str:
    """The gate and the counts of pairs in one line."""
    standings = [each.standing for each in judged.pairs]
    right = standings.count(CellClass.OK)
    listed = standings.count(CellClass.EXPECTED_FAILURE)
    said = (
        f"{plural(len(standings), 'pair')}: {right} load and compute the same, "
        f"{listed} fail as listed"
    )
    odd = len(judged.unexpected)
    asked = standings.count(CellClass.UNSUPPORTED)
    return (
        f"gate: {judged.gate}: {said}"
        + (f", {odd} not as listed" if odd else "")
        + (f", {asked} could not be asked" if asked else "")
        + (f"; {plural(len(judged.faults), 'fault')} of the list" if judged.faults else "")
    )


def crossing_html(view: CrossingView) -> str:
    """One self-contained page."""
    return render("crossing.html", **_context(view))


def crossing_markdown(view: CrossingView) -> str:
    return render("crossing.md", **_context(view))


def _context(view: CrossingView) -> dict[str, Any]:
    torches = list(dict.fromkeys(each["torch"] for each in view.releases.values()))
    return {
        "view": view,
        "headline": headline(view.judged),
        "tone": view.judged.gate.value,
        "green": view.judged.gate is Gate.GREEN,
        "torches": torches,
    }


def crossing_table(judged: JudgedCrossing) -> pa.Table:
    """A row a pair: its fields, its standing, and the class that lists it."""
    return pa.Table.from_pylist(
        [
            {
                **dataclasses.asdict(each.pair),
                "standing": each.standing.value,
                "listed": each.listed.id if each.listed else None,
            }
            for each in judged.pairs
        ],
        schema=_COLUMNS,
    )


def table_files(judged: JudgedCrossing) -> Sequence[tuple[str, bytes]]:
    """`crossing_table` as the contents of files, by their names."""
    table = crossing_table(judged)
    parquet, text = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    # The evidence, a traceback's tail, is for the Parquet file alone.
    pa_csv.write_csv(table.drop_columns(["detail"]), text)
    return (("crossing.parquet", parquet.getvalue()), ("crossing.csv", text.getvalue()))
