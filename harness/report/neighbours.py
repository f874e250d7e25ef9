"""Fixed and broken between all neighbouring releases: what a user meets in each cell, compared.

`tables.fixed_between` looks at one oracle at a time, and so cannot tell a program that failed aloud
and now computes something else: its values were not asked before. Here a cell is what a user meets
in it, and such a one has turned worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import pandas as pd

from harness.report.tables import BESIDE_SUBJECT
from harness.rig.records import Oracle

OK = len(Oracle)
"""Stands where the severity of a failure would, and is milder than any."""

JUDGED = ("ok", "failing")


@dataclass(frozen=True)
class Move:
    """A case whose cells went from one label to another between two releases, on these routes."""

    case: str
    before: str
    after: str
    routes: tuple[str, ...]


@dataclass(frozen=True)
class Moved:
    """The cells that went one way between two releases."""

    cells: int
    moves: tuple[Move, ...]

    @property
    def cases(self) -> int:
        return len({move.case for move in self.moves})


@dataclass(frozen=True)
class NeighbourView:
    """What changed between neighbouring inliners, by what a user meets in each cell.

    ``before`` and ``after`` each name the releases that were measured as one. ``milder`` and
    ``worse`` fail in both, by another oracle. ``oracle`` and ``label`` are those of the worst cell
    that broke or turned worse; empty where none did.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    compared: int
    fixed: Moved
    milder: Moved
    worse: Moved
    broken: Moved
    oracle: str
    label: str


def neighbours(cells: pd.DataFrame, releases: Sequence[str]) -> tuple[NeighbourView, ...]:
    """Each release against the one before it; those measured as one stand together.

    Args:
        releases: those that were asked anything, the oldest first.
    """
    gated = cells[~cells["hypothetical"] & cells["standing"].isin(JUDGED)]
    gated = gated[["subject", *BESIDE_SUBJECT, "label", "oracle"]]
    of = {str(name): here for name, here in gated.groupby("subject", observed=False)}
    return tuple(
        _between(of, before, after) for before, after in pairwise(measured_once(cells, releases))
    )


def measured_once(cells: pd.DataFrame, releases: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Neighbouring releases whose cells are copies of one another, by their inliner."""
    ran = cells["measured_as"].where(cells["measured_as"] != "", cells["subject"].astype("string"))
    sources = ran.groupby(cells["subject"], observed=True).unique()
    for _, members in groupby(releases, lambda name: sorted(sources[name])):
        yield tuple(members)


def _between(
    of: Mapping[str, pd.DataFrame], before: tuple[str, ...], after: tuple[str, ...]
) -> NeighbourView:
    one, other = (of[name].drop(columns="subject") for name in (before[-1], after[0]))
    both = one.merge(other, on=list(BESIDE_SUBJECT), suffixes=("_was", "_is"))
    was, now = (severities(both[f"oracle_{when}"]) for when in ("was", "is"))
    bad = both[now < was]
    worst = bad.sort_values(["oracle_is", "case", "route"]).head(1)
    return NeighbourView(
        before=before,
        after=after,
        compared=len(both),
        fixed=_moved(both[(was < OK) & (now == OK)]),
        milder=_moved(both[(was < now) & (now < OK)]),
        worse=_moved(both[(now < was) & (was < OK)]),
        broken=_moved(both[(was == OK) & (now < OK)]),
        oracle="".join(worst["oracle_is"]),
        label="".join(worst["label_is"]),
    )


def severities(oracles: pd.Series[str]) -> pd.Series[int]:
    """0 for the worst oracle: the frames order them so."""
    return oracles.cat.codes.astype("int64").replace(-1, OK)


def _moved(rows: pd.DataFrame) -> Moved:
    """Rows of (cell, label before, label after), those of one case and fate together."""
    by = ["case", "label_was", "label_is"]
    moves = tuple(
        Move(str(case), str(was), str(now), tuple(sorted({str(name) for name in here["route"]})))
        for (case, was, now), here in rows.groupby(by, observed=True)
    )
    return Moved(len(rows), moves)
