"""Which call is safest in the newest release: what each call of a user does to the same models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.report import text
from harness.report.frames.tables import UNJUDGED, in_lane
from harness.report.sections.package_lane import CALLS
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Harm
from harness.wire.routes import Lane, Route

#: The ways to save that every model can take; the others need dynamic dimensions.
_SAVES: Final = (Route.RETRACE, Route.NO_RETRACE, Route.NO_RETRACE_EXPORT)
#: What the page's name of a call leaves out.
_RETRACES: Final = f"before {SAVE_RETRACES_SINCE} write save(m, f, retrace=True) for save(m, f)"
_LESSER: Final = (Harm.INTERFACE.value, Harm.COSMETIC.value)


@dataclass(frozen=True)
class CallRecord:
    """What a way to save does to the models of the corpus; the numbers decide what is right.

    ``right`` and ``silent`` count models of ``asked`` in one release; ``always`` those that are
    right in every one of ``releases``, which have the call.
    """

    call: str
    asked: int
    right: int
    silent: int
    always: int
    releases: int


@dataclass(frozen=True)
class SaveRecords:
    """The ways to save in a release, the safest first; ``models`` are all that it was given."""

    release: str
    models: int
    ways: tuple[CallRecord, ...]


def save_records(cells: pd.DataFrame, releases: Sequence[str]) -> SaveRecords | None:
    """The ways to save, the safest first: fewest silent failures, then most models right.

    None where no release was asked.

    A model counts as asked where the package compiles it right; saving rests on that.

    Args:
        cells: of any lane; those of the package lane are looked at, or else of the engine lane, and
            those with segments for engines where there are some.
        releases: those of the run, the oldest first.
    """
    here = _of_packages(cells)
    asked = here[~here["standing"].isin(UNJUDGED)]
    names = [name for name in releases if (asked["subject"] == name).any()]
    if not names:
        return None
    right = asked["standing"].eq("ok") | asked["harm"].isin(_LESSER)
    found = []
    for route in _SAVES:
        mine = asked["route"] == route.value
        newest = asked[mine & (asked["subject"] == names[-1])]
        having = asked[mine]["subject"].nunique()
        good = asked[mine & right].groupby("case", observed=True)["subject"].nunique()
        found.append(
            CallRecord(
                call=CALLS[route],
                asked=len(newest),
                right=int(right[newest.index].sum()),
                silent=int((newest["harm"] == Harm.SILENT.value).sum()),
                always=int((good == having).sum()) if having else 0,
                releases=having,
            )
        )
    found.sort(key=lambda record: (record.silent, -record.right, -record.always))
    return SaveRecords(
        release=names[-1],
        models=here.loc[here["subject"] == names[-1], "case"].nunique(),
        ways=tuple(record for record in found if record.asked),
    )


def _of_packages(cells: pd.DataFrame) -> pd.DataFrame:
    here = in_lane(cells, Lane.PACKAGE)
    here = in_lane(cells, Lane.ENGINE) if here.empty else here
    segments = here[here["builder"] == SEGMENT]
    return here if segments.empty else segments


def safe_without_state(
    cells: pd.DataFrame, releases: Sequence[str], stateful: Collection[str]
) -> str:
    """What ``save(m, f)`` does, in every release, to the models that have no state.

    Empty where fewer than two releases were asked.

    Args:
        cells, releases: as `save_records` takes them.
        stateful: the cases that have state; all others count.
    """
    cells = cells[~cells["case"].isin(stateful) & cells["subject"].isin(releases)]
    cells = cells[cells["route"].isin([Route.COMPILE.value, Route.RETRACE.value])]
    # Engines of any builder count here: a user has real ones.
    wrong = cells.loc[cells["harm"] == Harm.SILENT.value, "case"].unique()
    here = _of_packages(cells)
    judged = here[~here["standing"].isin(UNJUDGED)]
    compiled = judged[judged["route"] == Route.COMPILE.value]
    asked = [name for name in releases if (compiled["subject"] == name).any()]
    if len(asked) < 2:
        return ""
    # What a release cannot be asked of emulated engines is no model of all releases.
    number = compiled.groupby("case", observed=True)["subject"].nunique()
    models = number[number == len(asked)].index
    judged = judged[judged["case"].isin(models)]
    right = judged["standing"].eq("ok") | judged["harm"].isin(_LESSER)
    right &= ~judged["case"].isin(wrong)
    saved = judged[right & (judged["route"] == Route.RETRACE.value)]
    always = int((saved.groupby("case", observed=True)["subject"].nunique() == len(asked)).sum())
    silent = len(set(wrong) & set(models))
    raising = len(models) - always - silent
    return (
        f"of {text.plural(len(models), 'model')} without state, save(m, f) is right for {always} "
        f"in every release from {asked[0]} to {asked[-1]} and silently wrong for {silent or 'none'}"
        + (
            f"; the other {raising} {'raises' if raising == 1 else 'raise'} an error in one "
            "release or more"
            if raising
            else ""
        )
    )


def safest(records: SaveRecords) -> list[str]:
    """The ways to save, a line each, the safest first; and the rule, and what they rest on."""
    told = [
        f"{each.call}: right for {each.right} of {each.asked} models, silently wrong for "
        f"{each.silent or 'none'}"
        + (
            f"; right in all {each.releases} releases for {each.always}"
            if each.releases > 1
            else ""
        )
        for each in records.ways
    ]
    if not told:
        return []
    saved = max(each.asked for each in records.ways)
    of = f"{saved} of {text.plural(records.models, 'model')} compile right"
    return [*told, f"({of}; {_RETRACES})"]
