"""Upstream's fixes against a run: does every release fail before a fix, and pass from it on?

A fix is held against the graph lane's cells of its cases and routes. They are the ones that a user
of the release can reach; a release of which nobody reaches any is judged on its hypothetical cells,
and marked so. They are of the pinned environment: in a matched one a release may fail for the sake
of its torch.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.expectations.ledger import selects_case
from harness.releases import Catalogue, Release
from harness.rig.records import CellKey, CellRecord
from harness.rig.vocabulary import PINNED, CellState, Lane, Oracle, Outcome


@dataclass(frozen=True)
class Fix:
    """One table of `history.toml`, which says what each field means.

    A fix that the graph lane cannot show has its reason in ``not_visible``, and no cases; any other
    has cases, and an empty ``not_visible``. ``oracle`` is None for any of them.
    """

    id: str
    pull_request: str
    first_good: str
    what: str
    cases: tuple[str, ...] = ()
    oracle: Oracle | None = None
    routes: tuple[str, ...] = ()
    not_visible: str = ""


class Showing(enum.StrEnum):
    """What one release shows of one fix."""

    FAILS = "fails"  # every cell fails the oracle
    PASSES = "passes"  # every cell passes it
    NEITHER = "neither"  # some fail and some pass, or the oracle was not reached
    NOT_ASKED = "not asked"  # a cell that it takes is not in the run


@dataclass(frozen=True)
class ReleaseShowing:
    """One release against one fix. ``otherwise`` says of each cell that is not as expected."""

    release: str
    showing: Showing
    hypothetical: bool
    otherwise: tuple[str, ...] = ()


@dataclass(frozen=True)
class FixHistory:
    """One fix against a run: a row for each release, oldest first; none if it cannot be shown."""

    fix: Fix
    releases: tuple[ReleaseShowing, ...] = ()

    def showing(self, showing: Showing) -> tuple[str, ...]:
        """The releases that show this."""
        return tuple(row.release for row in self.releases if row.showing is showing)

    @property
    def hypothetical(self) -> tuple[str, ...]:
        """The releases that are judged on cells which no user reaches."""
        return tuple(row.release for row in self.releases if row.hypothetical)

    @property
    def otherwise(self) -> tuple[str, ...]:
        """What is not as expected, a sentence a cell."""
        return tuple(line for row in self.releases for line in row.otherwise)

    @property
    def as_expected(self) -> bool | None:
        """None if the question was not put in full, and what was asked is as expected."""
        if self.otherwise:
            return False
        return None if self.fix.not_visible or self.showing(Showing.NOT_ASKED) else True


def history_of(
    fixes: Iterable[Fix], records: Iterable[CellRecord], catalogue: Catalogue
) -> tuple[FixHistory, ...]:
    """Every fix against a run's records, in the order of ``fixes``."""
    by_release: dict[str, list[CellRecord]] = {release.version: [] for release in catalogue}
    for record in records:
        if record.key.subject in by_release:
            by_release[record.key.subject].append(record)
    return tuple(_history(fix, by_release, catalogue) for fix in fixes)


def history_line(histories: Iterable[FixHistory], run: str) -> str | None:
    """The whole in one line; None where a run asked of no fix all that it takes."""
    said = [history for history in histories if history.as_expected is not None]
    if not said:
        return None
    wrong = [history.fix.id for history in said if not history.as_expected]
    told = f"history: {len(said) - len(wrong)} of {len(said)} upstream fixes as expected"
    if not wrong:
        return told
    return f"{told}; NOT {', '.join(wrong)}: python -m harness history {run}"


def _history(fix: Fix, by_release: dict[str, list[CellRecord]], catalogue: Catalogue) -> FixHistory:
    if fix.not_visible:
        return FixHistory(fix)
    fixed_at = catalogue.versions.index(fix.first_good)
    return FixHistory(
        fix,
        tuple(
            _showing(fix, release, by_release[release.version], good=at >= fixed_at)
            for at, release in enumerate(catalogue)
        ),
    )


def _showing(
    fix: Fix, release: Release, records: Sequence[CellRecord], *, good: bool
) -> ReleaseShowing:
    """What a release shows; a ``good`` one is expected to pass, any other to fail."""
    reachable = tuple(route for route in fix.routes if route in release.reachable)
    cells: dict[CellKey, CellRecord] = {}
    complete = True
    for selector, route in itertools.product(fix.cases, reachable or fix.routes):
        asked = [record for record in records if _answers(record, selector, route)]
        complete = complete and bool(asked)
        cells |= {record.key: record for record in asked}
    expected = Showing.PASSES if good else Showing.FAILS
    said = [(key, *_said(fix, cell)) for key, cell in cells.items()]
    showings = {showing for _, showing, _ in said}
    together = showings.pop() if len(showings) == 1 else Showing.NEITHER
    return ReleaseShowing(
        release=release.version,
        showing=together if complete else Showing.NOT_ASKED,
        hypothetical=bool(cells) and not reachable,
        otherwise=tuple(
            f"{key.case} [{key.subject} {key.route}]: {label}, but it should "
            f"{'pass' if good else 'fail'}"
            for key, showing, label in said
            if showing is not expected
        ),
    )


def _answers(record: CellRecord, selector: str, route: str) -> bool:
    return (
        record.state is CellState.ENDED
        and record.key.lane == Lane.GRAPH
        and record.key.environment == PINNED
        and record.key.route == route
        and selects_case(selector, record.key.case)
    )


def _said(fix: Fix, cell: CellRecord) -> tuple[Showing, str]:
    """What one cell shows, and its verdict in words. An oracle not reached has not passed."""
    if fix.oracle is None:
        return (Showing.FAILS if cell.failures else Showing.PASSES), cell.label
    verdict = cell.verdict(fix.oracle)
    shown = {Outcome.FAILED: Showing.FAILS, Outcome.OK: Showing.PASSES}
    return shown.get(verdict.outcome, Showing.NEITHER), f"{fix.oracle} {verdict.label}"
