"""Which entries of a ledger cover which cells, worked out for all cells of a run at once.

A run has a hundred thousand cells and the ledger a hundred entries, but the cells have few cases,
subjects and settings: an entry is asked about each of those, and not about each cell.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.expectations.ledger import Entry, Ledger
from harness.rig.records import CellKey, CellRecord
from harness.rig.vocabulary import Oracle

_setting = operator.attrgetter("capture", "route", "lane", "builder", "environment")


@dataclass(frozen=True, eq=False)
class Scope:
    """The entries that cover a cell. Cells that are covered by the same ones share one object."""

    entries: tuple[Entry, ...]
    demands: Mapping[Oracle, tuple[Entry, ...]]

    def demanding(self, oracle: Oracle) -> tuple[Entry, ...]:
        """The entries that expect the cell to fail this oracle."""
        return self.demands.get(oracle, ())

    def permitting(self, record: CellRecord) -> tuple[Entry, ...]:
        """The entries that let the cell be, if it is unsupported."""
        return tuple(entry for entry in self.entries if entry.permits(record))


def scopes(
    keys: Iterable[CellKey], ledger: Ledger, origins: Mapping[str, str]
) -> dict[CellKey, Scope]:
    """The scope of each cell; ``origins`` are those of the cases, as far as they are known."""
    of_setting: dict[tuple[str, ...], frozenset[Entry]] = {}

    @functools.cache
    def of_case(case: str) -> frozenset[Entry]:
        origin = origins.get(case)
        return frozenset(entry for entry in ledger.entries if entry.names(case, origin))

    @functools.cache
    def of_subject(subject: str) -> frozenset[Entry]:
        return frozenset(entry for entry in ledger.entries if entry.asks(subject))

    @functools.cache
    def made(entries: frozenset[Entry]) -> Scope:
        return _scope(tuple(entry for entry in ledger.entries if entry in entries))

    found = {}
    for key in keys:
        setting = _setting(key)
        if setting not in of_setting:
            of_setting[setting] = frozenset(e for e in ledger.entries if e.fits(key))
        found[key] = made(of_case(key.case) & of_subject(key.subject) & of_setting[setting])
    return found


def _scope(entries: tuple[Entry, ...]) -> Scope:
    demands: dict[Oracle, tuple[Entry, ...]] = {}
    for entry in entries:
        if not entry.permits_unsupported:
            demands[entry.oracle] = (*demands.get(entry.oracle, ()), entry)
    return Scope(entries, demands)
