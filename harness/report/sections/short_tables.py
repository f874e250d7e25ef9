"""Three short tables: what can be unflattened, what torch fails by itself, hypothetical routes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import pandas as pd

from harness.report.frames.frames import UNABLE
from harness.report.frames.tables import UNJUDGED, WORST_FIRST
from harness.report.reported_run import ReportedRun, Section
from harness.wire.oracles import Oracle
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome

_ABLE: Final = Outcome.OK.value
_ASKED: Final = (_ABLE, Outcome.FAILED.value, UNABLE)


@dataclass(frozen=True)
class UnflattenRow:
    """How many programs of each of these subjects can be unflattened by one route.

    ``asked`` are the cells that completed.
    """

    members: tuple[str, ...]
    route: str
    able: int
    asked: int


@dataclass(frozen=True)
class Control:
    """What plain ``torch.export`` of the eager models does: torch's own failures."""

    asked: int
    ok: int
    failures: tuple[tuple[str, str, str], ...]  # case, label, message


@dataclass(frozen=True)
class HypotheticalRow:
    """A route that no user call reaches in a subject."""

    subject: str
    route: str
    ok: int
    total: int
    worst: str


def unflatten_rows(run: ReportedRun) -> tuple[UnflattenRow, ...]:
    """A row for each (route, subject); neighbours of one route with the same counts share one.

    Counted are the gated cells whose program came back and ran; a program that did not has nothing
    to be unflattened.
    """
    verdicts = run.verdicts
    asked = verdicts[
        (verdicts["oracle"] == Oracle.UNFLATTEN.value)
        & verdicts["outcome"].isin(_ASKED)
        & ~verdicts["hypothetical"]
    ]
    return tuple(
        UnflattenRow(tuple(subject for _, subject, _, _ in same), route, able, of)
        for (route, able, of), same in groupby(_counts(asked), lambda row: (row[0], *row[2:]))
    )


def _counts(asked: pd.DataFrame) -> Iterator[tuple[str, str, int, int]]:
    """(route, subject, able, asked), by route and then by subject."""
    for (route, subject), here in asked.groupby(["route", "subject"], observed=True):
        able = int((here["outcome"] == _ABLE).sum())
        yield str(route), str(subject), able, len(here)


def build_control(run: ReportedRun) -> Control:
    """What torch fails by itself."""
    cells, verdicts = run.cells, run.verdicts
    plain = cells[cells["route"] == Route.PLAIN.value]
    asked = plain[~plain["standing"].isin(UNJUDGED)]
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


def hypothetical_rows(run: ReportedRun) -> tuple[HypotheticalRow, ...]:
    """The (subject, route) pairs that no user call reaches, counted apart from all else."""
    told = run.cells[["subject", "route", "standing", *WORST_FIRST]]
    apart = told[run.cells["hypothetical"]]
    rows = []
    for (subject, route), here in apart.groupby(["subject", "route"], observed=True):
        failing = here[here["standing"] == "failing"].sort_values([*WORST_FIRST])
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


UNFLATTEN: Final = Section("unflatten", unflatten_rows, template="unflatten")
CONTROL: Final = Section("control", build_control, template="control", link="Control")
HYPOTHETICAL: Final = Section("hypothetical", hypothetical_rows, template="hypothetical")
