"""Fixed and broken between all neighbouring releases: what a user meets in each cell, compared.

A cell is as bad as the worst harm in it, as on the first screen: one whose numbers are right,
however they are packed, counts as right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

import numpy as np
import pandas as pd

from harness.report.frames.limits import MOST_ROWS, most_of_each
from harness.report.frames.tables import BESIDE_SUBJECT
from harness.report.reported_run import ReportedRun, Section
from harness.wire.oracles import Harm

OK = Harm.INTERFACE.severity
"""The least severity of what counts as right."""

JUDGED = ("ok", "failing")
FATES = ("fixed", "milder", "worse", "broken")


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
    ``worse`` fail in both, with another harm. ``harm`` and ``label`` are those of the cell that
    harms most of those that broke or turned worse; empty where none did.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    compared: int
    fixed: Moved
    milder: Moved
    worse: Moved
    broken: Moved
    harm: str
    label: str


def neighbours(cells: pd.DataFrame, releases: Sequence[str]) -> tuple[NeighbourView, ...]:
    """Each release against the one before it; those measured as one stand together.

    Args:
        releases: those that were asked anything, the oldest first.
    """
    pairs = list(pairwise(measured_once(cells, releases)))
    gated = cells[~cells["hypothetical"] & cells["standing"].isin(JUDGED)]
    both = side_by_side(gated, [(one[-1], other[0]) for one, other in pairs], BESIDE_SUBJECT)
    compared = both["pair"].value_counts()
    moved = _moved(both)
    bad = both[both["fate"].isin(("worse", "broken"))]
    worst = bad.sort_values(["pair", "harm_is", "oracle_is", "case", "route"])
    worst = worst.drop_duplicates("pair")
    named = worst.set_index("pair")[["harm_is", "label_is"]].astype("string").to_dict("index")
    return tuple(
        NeighbourView(
            before=before,
            after=after,
            compared=int(compared.get(pair, 0)),
            **{fate: moved.get((pair, fate), Moved(0, ())) for fate in FATES},
            harm=named.get(pair, {}).get("harm_is", ""),
            label=named.get(pair, {}).get("label_is", ""),
        )
        for pair, (before, after) in enumerate(pairs)
    )


def side_by_side(
    cells: pd.DataFrame, pairs: Sequence[tuple[str, str]], within: Sequence[str]
) -> pd.DataFrame:
    """The cells that both subjects of a pair have, a row each, of all pairs at once.

    Args:
        within: the columns by which a cell is found again in the other subject.

    Columns: ``pair``, its number; ``case`` and ``route``; ``label``, ``oracle`` and ``harm`` of
    both, with ``_was`` and ``_is``; and ``fate``, one of ``FATES``, or an empty string for what
    stayed.
    """
    told = cells[["subject", "case", "route", "label", "oracle", "harm"]].assign(
        place=cells.groupby(list(within), observed=True, sort=False).ngroup(),
        severity=severities(cells["harm"]),
    )
    subject = cells["subject"].dtype
    one, other = (
        told.merge(
            pd.DataFrame({"subject": pd.Series(names, dtype=subject), "pair": range(len(pairs))}),
            on="subject",
        ).drop(columns="subject")
        for names in ([before for before, _ in pairs], [after for _, after in pairs])
    )
    other = other.drop(columns=["case", "route"])
    both = one.merge(other, on=["pair", "place"], suffixes=("_was", "_is"))
    was, now = both["severity_was"], both["severity_is"]
    chosen = [
        (was < OK) & (now == OK),
        (was < now) & (now < OK),
        (now < was) & (was < OK),
        (was == OK) & (now < OK),
    ]
    return both.assign(fate=np.select(chosen, FATES, ""))


def measured_once(cells: pd.DataFrame, releases: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Neighbouring releases whose cells are copies of one another, by their inliner."""
    ran = cells["measured_as"].where(cells["measured_as"] != "", cells["subject"].astype("string"))
    sources = ran.groupby(cells["subject"], observed=True).unique()
    for _, members in groupby(releases, lambda name: sorted(sources[name])):
        yield tuple(members)


def severities(harms: pd.Series[str]) -> pd.Series[int]:
    """The severity of each harm, 0 for the worst; ``OK`` where the numbers are right."""
    return harms.cat.codes.astype("int64").replace(-1, OK).clip(upper=OK)


def _moved(both: pd.DataFrame) -> dict[tuple[int, str], Moved]:
    """The moves of each pair and fate; cells of one case and one change share a move."""
    names = ["pair", "fate", "case", "label_was", "label_is", "route"]
    rows = both.loc[both["fate"] != "", names].astype(dict.fromkeys(names[1:], "string"))
    moves = sorted(Counter(rows.itertuples(index=False, name=None)).items())
    found = {}
    for where, here in groupby(moves, lambda move: move[0][:2]):
        of = list(here)
        changes = tuple(
            Move(case, was, now, tuple(row[5] for row, _ in cells))
            for (case, was, now), cells in groupby(of, lambda move: move[0][2:5])
        )
        found[where] = Moved(sum(count for _, count in of), changes)
    return found


@dataclass(frozen=True)
class Changes:
    """What every release changed against the one before it."""

    neighbours: tuple[NeighbourView, ...]

    @property
    def most_moves(self) -> int:
        """How many cases the page names of each way that cells went between two releases."""
        pairs = self.neighbours[-MOST_ROWS:]
        return most_of_each([len(getattr(pair, fate).moves) for pair in pairs for fate in FATES])


def build_changes(run: ReportedRun) -> Changes | None:
    """The comparison of all neighbours; None where less than two releases were asked."""
    found = neighbours(run.cells, run.releases)
    return Changes(found) if found else None


CHANGES: Final = Section("changes", build_changes, template="changes", link="Changes")
