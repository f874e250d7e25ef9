"""The few tables that the report is made of, and the cells of those that a reader sees.

Headline numbers count gated cells only; a hypothetical cell is in no table of this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from harness.report.frames.frames import STANDINGS
from harness.wire.oracles import Harm
from harness.wire.record_json import KEY
from harness.wire.routes import Lane
from harness.wire.vocabulary import Stage

BESIDE_SUBJECT = tuple(name for name in KEY if name != "subject")
INLINE_STAGES = (Stage.INLINE_ENGINES, Stage.INLINE_FALLBACKS, Stage.CLEAN)
INLINE = "inline"
LATENCY_STAGES = (INLINE, Stage.EXPORT.value, Stage.SAVE.value, Stage.LOAD.value)
UNJUDGED: Final = ("unsupported", "missing")
"""The standings of a cell that speaks for nobody."""

UNEXPECTED = ("unexpected_failure", "unexpected_pass")
WORST_FIRST = ("harm", "oracle", "label")
"""The order of failing cells: what harms most comes first."""


@dataclass(frozen=True)
class MatrixCell:
    """One subject in one family, or by one route in the table of the package lane.

    ``tone`` names its colour and sign: the worst harm, or a standing where nothing fails.
    """

    subject: str
    family: str
    ok: int
    failing: int
    unsupported: int
    missing: int
    unexpected: int
    worst: str
    tone: str

    @property
    def total(self) -> int:
        return self.ok + self.failing + self.unsupported + self.missing


@dataclass(frozen=True)
class Quartiles:
    """A median that carries its spread and the number of samples behind it."""

    median: float
    q1: float
    q3: float
    n: int


@dataclass(frozen=True)
class Harms:
    """Counts of cells by the harm that a user meets in them; a cosmetic failure is no harm.

    ``silent`` cells run without a warning and compute something else. Those that are ``announced``
    do so too, and the release warns of it or documents it: they are not silent, and not right.
    ``error`` ends in one; of ``interface`` the numbers are right.
    """

    silent: int = 0
    announced: int = 0
    error: int = 0
    interface: int = 0


def harms_of(cells: pd.DataFrame) -> Harms:
    counts = Counter(map(str, cells["harm"].dropna()))
    return Harms(
        silent=counts[Harm.SILENT.value],
        announced=counts[Harm.WARNED.value],
        error=counts[Harm.ERROR.value],
        interface=counts[Harm.INTERFACE.value],
    )


def in_lane(frame: pd.DataFrame, lane: Lane) -> pd.DataFrame:
    """The rows of one lane."""
    return frame[frame["lane"] == lane.value]


def matrix(cells: pd.DataFrame, by: str = "family") -> pd.DataFrame:
    """Subjects by families, or by another column: one row for each pair, even without a cell.

    Columns: a count for each of ``STANDINGS``, ``unexpected``, ``total``, and ``worst`` and
    ``harm``, the label and the harm of the cell that harms most (missing where none fails).
    """
    pair = ["subject", by]
    gated = cells[[*pair, "standing", "class", *WORST_FIRST]][~cells["hypothetical"]]
    counts = gated.groupby([*pair, "standing"], observed=False).size().unstack("standing")
    counts.columns = pd.Index([str(name) for name in counts.columns])
    counts["total"] = counts.sum(axis=1)
    odd = gated["class"].isin(UNEXPECTED)
    counts["unexpected"] = gated[odd].groupby(pair, observed=False).size()
    failing = gated[gated["standing"] == "failing"].sort_values([*WORST_FIRST])
    worst = failing.groupby(pair, observed=True)[["label", "harm"]].first()
    return counts.join(worst.rename(columns={"label": "worst"}))


def matrix_cells(table: pd.DataFrame, by: str = "family") -> dict[tuple[str, str], MatrixCell]:
    """The cells of `matrix` by subject and family, or by the column in place of the family."""
    rows = (_cell(row, by) for row in table.reset_index().to_dict("records"))
    return {(cell.subject, cell.family): cell for cell in rows}


def _cell(row: Mapping[Any, Any], by: str) -> MatrixCell:
    counts = {name: int(row[name]) for name in (*STANDINGS, "unexpected")}
    worst = "" if pd.isna(row["worst"]) else str(row["worst"])
    tone = str(row["harm"]) if worst else _tone(counts)
    return MatrixCell(
        subject=str(row["subject"]), family=str(row[by]), worst=worst, tone=tone, **counts
    )


def _tone(counts: Mapping[str, int]) -> str:
    """The colour of a cell in which nothing fails: a doubt outweighs a pass."""
    for standing in ("missing", "unsupported", "ok"):
        if counts[standing]:
            return standing
    return "none"


def whole(subject: str, cells: Sequence[MatrixCell]) -> MatrixCell:
    """The sum of a row's cells; its worst failure is that of its worst family."""
    names = (*STANDINGS, "unexpected")
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in names}
    worst = min(
        (cell for cell in cells if cell.worst),
        key=lambda cell: Harm(cell.tone).severity,
        default=None,
    )
    return MatrixCell(
        subject=subject,
        family="",
        worst=worst.worst if worst else "",
        tone=worst.tone if worst else _tone(counts),
        **counts,
    )


def comparable(frame: pd.DataFrame, within: Sequence[str]) -> pd.DataFrame:
    """The rows of those cases that every subject was measured on, in each group of ``within``.

    A subject that breaks on the large cases would look fast otherwise. Subjects without any row
    in a group do not count.
    """
    if frame.empty:
        return frame
    case = ["case", "capture"]
    groups = frame.groupby(list(within), observed=True)["subject"]
    everyone = groups.transform("nunique")
    here = frame.groupby([*within, *case], observed=True)["subject"].transform("nunique")
    return frame[here == everyone]


def latency(samples: pd.DataFrame) -> pd.DataFrame:
    """Median, quartiles and number of samples of each (subject, route, stage), in seconds.

    ``inline`` is the sum of the three inlining stages, of cells in which all three ended; samples
    that `stage_times` has already summed are taken as they are.
    """
    return quartiles(stage_times(samples), ["subject", "route", "stage"], "seconds")


def stage_times(samples: pd.DataFrame) -> pd.DataFrame:
    """The gated samples of ``LATENCY_STAGES``, with ``inline`` summed up."""
    gated = samples[~samples["hypothetical"]]
    parts = gated[gated["stage"].isin([stage.value for stage in INLINE_STAGES])]
    keys = [*KEY, "family", "hypothetical"]
    whole = parts.groupby(keys, observed=True, as_index=False).agg(
        seconds=("seconds", "sum"),
        parts=("stage", "nunique"),
        measured_as=("measured_as", "first"),
    )
    whole = whole[whole["parts"] == len(INLINE_STAGES)].drop(columns="parts").assign(stage=INLINE)
    others = gated[gated["stage"].isin(LATENCY_STAGES)]
    stages = pd.CategoricalDtype(list(LATENCY_STAGES))
    return pd.concat(
        [part.astype({"stage": stages}) for part in (whole, others)], ignore_index=True
    )


def sizes(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Median, quartiles and number of the gated cells' sizes by (subject, route), in bytes."""
    gated = cells[~cells["hypothetical"]].dropna(subset=[column])
    gated = comparable(gated, ["route"])
    return quartiles(gated.astype({column: "float64"}), ["subject", "route"], column)


def quartiles(frame: pd.DataFrame, by: list[str], column: str) -> pd.DataFrame:
    """``median``, ``q1``, ``q3`` and their number ``n`` of a column, in each group of ``by``."""
    grouped = frame.groupby(by, observed=True)[column]
    table = pd.DataFrame(
        {
            "median": grouped.quantile(0.5),
            "q1": grouped.quantile(0.25),
            "q3": grouped.quantile(0.75),
            "n": grouped.size(),
        }
    )
    return table.reset_index()


def compared_quartiles(
    frame: pd.DataFrame, within: Sequence[str], by: Sequence[str], column: str
) -> dict[tuple[str, ...], Quartiles]:
    """Quartiles of a column by the columns ``by``, over the `comparable` rows alone."""
    return quartiles_by(quartiles(comparable(frame, within), list(by), column), *by)


def quartiles_by(table: pd.DataFrame, *names: str) -> dict[tuple[str, ...], Quartiles]:
    """The rows of a table of quartiles, by the columns that name them."""
    return {
        tuple(str(row[name]) for name in names): Quartiles(
            float(row["median"]), float(row["q1"]), float(row["q3"]), int(row["n"])
        )
        for row in table.to_dict("records")
    }
