"""From frames to the rows of each section below the matrix. No section knows another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pandas as pd

from harness.report.frames import tables
from harness.report.frames.limits import most_of_each
from harness.report.frames.measure_views import MeasureRow, Quartiles
from harness.report.sections.views import (
    ChangeView,
    Comparison,
    Control,
    FailingCell,
    FailingGroup,
    FailingSubject,
    HypotheticalRow,
)
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome

SHOWN_CELLS = 40
"""Failing cells listed by (subject, family) at most; the records hold the rest."""

NO_INLINER = (Route.DIRECT.value, Route.PLAIN.value)


def comparison(verdicts: pd.DataFrame, before: str, after: str) -> Comparison:
    """What ``after`` fixed and broke against ``before``, one row a (case, harm, labels)."""
    changes = tables.fixed_between(verdicts, before, after)
    return Comparison(
        before=before,
        after=after,
        fixed=_changes(changes.fixed, "before"),
        broken=_changes(changes.broken, "after"),
        fixed_count=len(changes.fixed),
        broken_count=len(changes.broken),
    )


def _changes(frame: pd.DataFrame, failed: str) -> tuple[ChangeView, ...]:
    """One row a case and change; the failure stands in the columns that end in ``failed``."""
    harm, message = f"harm_{failed}", f"message_{failed}"
    by = [harm, "case", "label_before", "label_after"]
    views = []
    for (harmed, case, old, new), rows in frame.groupby(by, observed=True):
        first = rows.iloc[0]
        routes = tuple(dict.fromkeys(str(route) for route in rows["route"]))
        views.append(
            ChangeView(
                str(case),
                str(first["family"]),
                str(harmed),
                str(old),
                str(new),
                routes,
                str(first[message]),
            )
        )
    return tuple(views)


def measure_rows(samples: pd.DataFrame, cells: pd.DataFrame) -> tuple[MeasureRow, ...]:
    """A row for each (route, subject) that has a gated cell; twins of one inliner share theirs.

    Seconds and sizes are over the cases that every subject finished on that route, so routes come
    first: within one, the rows are of the same cases.
    """
    fair = tables.comparable(samples, ["route", "stage"])
    seconds = quartiles_by(tables.latency(fair), "subject", "route", "stage")
    archives = quartiles_by(tables.sizes(cells, "archive_bytes"), "subject", "route")
    engines = quartiles_by(tables.sizes(cells, "engine_bytes"), "subject", "route")
    return tuple(
        MeasureRow(
            members=members,
            route=route,
            inlines=route not in NO_INLINER,
            stages={name: seconds.get((members[0], route, name)) for name in tables.LATENCY_STAGES},
            archive=archives.get((members[0], route)),
            engines=engines.get((members[0], route)),
        )
        for route, members in _measured_once(cells)
    )


def _measured_once(cells: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each route with the subjects that were measured as one and the same, in order."""
    names = ["route", "subject", "measured_as"]
    gated = _gated(cells)[names].drop_duplicates(names[:2]).sort_values(names[:2])
    sources = ((row, str(row["measured_as"] or row["subject"])) for row in gated.to_dict("records"))
    for (route, _), rows in groupby(sources, lambda pair: (str(pair[0]["route"]), pair[1])):
        yield route, tuple(str(row["subject"]) for row, _ in rows)


def quartiles_by(table: pd.DataFrame, *names: str) -> dict[tuple[str, ...], Quartiles]:
    """The rows of a table of quartiles, by the columns that name them."""
    return {
        tuple(str(row[name]) for name in names): Quartiles(
            float(row["median"]), float(row["q1"]), float(row["q3"]), int(row["n"])
        )
        for row in table.to_dict("records")
    }


def _gated(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[~cells["hypothetical"]]


def control(cells: pd.DataFrame, verdicts: pd.DataFrame) -> Control:
    """What torch fails by itself."""
    plain = cells[cells["route"] == Route.PLAIN.value]
    asked = plain[~plain["standing"].isin(["unsupported", "missing"])]
    failed = verdicts[
        (verdicts["route"] == Route.PLAIN.value) & (verdicts["outcome"] == Outcome.FAILED.value)
    ].sort_values(["oracle", "case"])
    failed = failed.drop_duplicates(["case", "oracle", "label"])
    return Control(
        asked=len(asked),
        ok=int((asked["standing"] == "ok").sum()),
        failures=tuple(
            (row["case"], row["label"], row["message"]) for row in failed.to_dict("records")
        ),
    )


def hypothetical_rows(cells: pd.DataFrame) -> tuple[HypotheticalRow, ...]:
    """The (subject, route) pairs that no user call reaches, counted apart from all else."""
    told = cells[["subject", "route", "standing", *tables.WORST_FIRST]]
    apart = told[cells["hypothetical"]]
    rows = []
    for (subject, route), here in apart.groupby(["subject", "route"], observed=True):
        failing = here[here["standing"] == "failing"].sort_values([*tables.WORST_FIRST])
        rows.append(
            HypotheticalRow(
                subject=str(subject),
                route=str(route),
                ok=int((here["standing"] == "ok").sum()),
                total=len(here),
                worst=str(failing["label"].iloc[0]) if len(failing) else "",
            )
        )
    return tuple(rows)


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
    failing = _gated(cells)
    failing = failing[failing["standing"] == "failing"]
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
