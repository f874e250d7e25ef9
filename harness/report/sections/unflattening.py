"""How many programs can be unflattened, by route: a capability, which gates on `direct` alone.

Counted are the gated cells whose program came back and ran; a program that did not has nothing to
be unflattened.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pandas as pd

from harness.report.frames.frames import UNABLE
from harness.report.frames.measure_views import UnflattenRow
from harness.wire.oracles import Oracle
from harness.wire.vocabulary import Outcome

_ABLE = Outcome.OK.value
_ASKED = (_ABLE, Outcome.FAILED.value, UNABLE)


def unflatten_rows(verdicts: pd.DataFrame) -> tuple[UnflattenRow, ...]:
    """A row for each (route, subject), neighbours of one route with the same counts in one."""
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
