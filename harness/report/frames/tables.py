"""The few tables that the report is made of: frames in, frames out.

Headline numbers count gated cells only; a hypothetical cell is in no table of this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from harness.wire.record_json import KEY
from harness.wire.vocabulary import Outcome, Stage

BESIDE_SUBJECT = tuple(name for name in KEY if name != "subject")
INLINE_STAGES = (Stage.INLINE_ENGINES, Stage.INLINE_FALLBACKS, Stage.CLEAN)
INLINE = "inline"
LATENCY_STAGES = (INLINE, Stage.EXPORT.value, Stage.SAVE.value, Stage.LOAD.value)
UNEXPECTED = ("unexpected_failure", "unexpected_pass")
WORST_FIRST = ("harm", "oracle", "label")
"""The order of failing cells: what harms most comes first."""


def matrix(cells: pd.DataFrame, by: str = "family") -> pd.DataFrame:
    """Subjects by families, or by another column: one row a pair, also where there is no cell.

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


@dataclass(frozen=True)
class Changes:
    """What differs between two subjects: rows of (cell but for the subject, oracle)."""

    fixed: pd.DataFrame
    broken: pd.DataFrame


def fixed_between(verdicts: pd.DataFrame, before: str, after: str) -> Changes:
    """What failed in ``before`` and is ok in ``after``, and the reverse.

    An oracle that was not asked in one of them is neither: its cell fails in another oracle,
    which tells the change.
    """
    where = [*BESIDE_SUBJECT, "family", "oracle"]
    gated = verdicts[~verdicts["hypothetical"]]

    def of(subject: str) -> pd.DataFrame:
        here = gated[gated["subject"] == subject]
        return here[[*where, "outcome", "harm", "label", "message"]]

    both = of(before).merge(of(after), on=where, suffixes=("_before", "_after"))
    both = both.sort_values(["oracle", "case", "route"], ignore_index=True)

    def went(old: Outcome, new: Outcome) -> pd.DataFrame:
        match = (both["outcome_before"] == old.value) & (both["outcome_after"] == new.value)
        return both[match].reset_index(drop=True)

    return Changes(fixed=went(Outcome.FAILED, Outcome.OK), broken=went(Outcome.OK, Outcome.FAILED))
