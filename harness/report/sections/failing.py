"""The failing cells of subjects, by family or call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import pandas as pd

from harness.report.frames.limits import most_of_each

SHOWN_CELLS: Final = 40
"""Failing cells listed by (subject, family) at most; the records hold the rest."""


@dataclass(frozen=True)
class FailingCell:
    case: str
    route: str
    label: str
    message: str
    given_class: str


@dataclass(frozen=True)
class FailingGroup:
    """The failing cells of one family, or of one route. ``total`` counts those left out too."""

    family: str
    cells: tuple[FailingCell, ...]
    total: int


@dataclass(frozen=True)
class FailingSubject:
    """The failing cells of subjects that fail alike; mostly one subject."""

    members: tuple[str, ...]
    groups: tuple[FailingGroup, ...]

    @property
    def total(self) -> int:
        return sum(group.total for group in self.groups)

    @property
    def unlisted(self) -> int:
        """The failing cells that are not listed, of all members together."""
        return len(self.members) * sum(group.total - len(group.cells) for group in self.groups)


def failing_cells(cells: pd.DataFrame, subjects: Sequence[str]) -> int:
    """How many gated cells of some subjects fail."""
    here = cells["subject"].isin(subjects) & ~cells["hypothetical"]
    return int((cells["standing"] == "failing")[here].sum())


def failing_subjects(
    cells: pd.DataFrame, together: Sequence[Sequence[str]], by: str = "family"
) -> tuple[FailingSubject, ...]:
    """Every failing gated cell, by subject and family, worst first.

    Args:
        together: neighbouring subjects to be shown once, as far as their cells fail alike.
        by: a column to take the place of the family.
    """
    failing = cells[~cells["hypothetical"] & (cells["standing"] == "failing")]
    failing = failing.sort_values(["subject", by, "harm", "oracle", "case", "route"])
    columns = ["subject", by, "case", "route", "label", "message", "class"]
    words = (failing[name].astype("string").fillna("").to_numpy() for name in columns)
    rows = zip(*words, strict=True)
    listed = {where: list(here) for where, here in groupby(rows, lambda row: row[:2])}
    most = most_of_each([len(here) for here in listed.values()], SHOWN_CELLS)
    of: dict[str, list[FailingGroup]] = {}
    for (subject, name), here in listed.items():
        shown = tuple(FailingCell(*row[2:]) for row in here[:most])
        of.setdefault(subject, []).append(FailingGroup(name, shown, len(here)))
    return tuple(
        FailingSubject(tuple(members), tuple(found))
        for subjects in together
        for found, members in groupby(subjects, lambda name: of.get(name, []))
        if found
    )
