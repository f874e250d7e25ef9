"""Ledger entries put together into causes.

An entry excuses one oracle with one message, so one defect takes several: by scope, by release,
by what it is seen as. Whoever writes the ledger says which belong together, in one of three ways:

- they explain it in the same first sentence,
- one begins with ``As`` and another's id (``As own-input-wiring: lint says so``),
- one's id goes on where another's ends (``one-output-list``, ``one-output-list-from-2.11``).

Nothing else is guessed: two entries that merely look alike stay two causes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

from harness.report.cause_views import CauseView, LiveCause, SeenAs
from harness.rig.records import CaseInfo
from harness.rig.vocabulary import Lane, Oracle

_AS = re.compile(r"As ([a-z0-9.]+(?:-[a-z0-9.]+)+)")


def live_causes(
    causes: Sequence[CauseView], verdicts: pd.DataFrame, subject: str, order: Sequence[str]
) -> tuple[LiveCause, ...]:
    """The causes that ``subject`` still has, worst first, as its own cells show them.

    Args:
        order: names of the cases, the smallest first.
    """
    failed = _failed(verdicts[verdicts["subject"] == subject])
    found = (_of_group(group, failed, subject, order) for group in cause_groups(causes))
    live = [cause for cause in found if cause is not None]
    return tuple(sorted(live, key=lambda cause: (severity(cause.oracle), cause.id)))


def gone_causes(
    causes: Sequence[CauseView],
    verdicts: pd.DataFrame,
    releases: Sequence[str],
    order: Sequence[str],
) -> tuple[LiveCause, ...]:
    """The causes that the newest release no longer has, each as the last one that had it shows it.

    Args:
        releases: those that were asked anything, the oldest first.
    """
    failures = _failed(verdicts)
    failed = {str(name): of for name, of in failures.groupby("subject", observed=False)}
    gone = []
    for group in cause_groups(causes):
        seen = {name for cause in group for name in cause.subjects}
        found = (
            (name, _of_group(group, failed[name], name, order))
            for name in reversed(releases)
            if name in seen
        )
        name, cause = next((each for each in found if each[1] is not None), ("", None))
        if cause is not None and name != releases[-1]:
            gone.append(cause)
    return tuple(sorted(gone, key=lambda cause: (severity(cause.oracle), -cause.cells, cause.id)))


def _failed(verdicts: pd.DataFrame) -> pd.DataFrame:
    columns = ["lane", "subject", "case", "capture", "route", "oracle", "label"]
    told = verdicts[columns].assign(cell=verdicts["cell_id"].cat.codes)
    return told[(verdicts["outcome"] == "failed") & ~verdicts["hypothetical"]]


def _of_group(
    group: Sequence[CauseView], failed: pd.DataFrame, subject: str, order: Sequence[str]
) -> LiveCause | None:
    """A cause as the failed verdicts of a subject show it; None where they do not."""
    seen = [(cause, _cells(failed, cause)) for cause in group if subject in cause.subjects]
    seen = [(cause, cells) for cause, cells in seen if len(cells)]
    return _live(group, seen, subject, order) if seen else None


def smallest_first(cells: pd.DataFrame, cases: Sequence[CaseInfo]) -> list[str]:
    """Cases by the bytes of their engines; in the order of the corpus where these are alike.

    Engine bytes stand for the size of a program: they are known of programs that broke, too.
    """
    size = cells.groupby("case", observed=True)["engine_bytes"].min().dropna().to_dict()
    return sorted((case.name for case in cases), key=lambda name: size.get(name, math.inf))


def severity(oracle: str) -> int:
    """0 for the worst; what is no oracle, such as a harness's own fault, comes last."""
    return Oracle(oracle).severity if oracle in list(Oracle) else len(Oracle)


def cause_groups(causes: Sequence[CauseView]) -> list[tuple[CauseView, ...]]:
    """The entries of each cause, the one that explains it first."""
    ids = [cause.id for cause in causes]
    groups: list[tuple[set[str], list[CauseView]]] = []
    for cause in causes:
        names, members = _names(cause, ids), [cause]
        apart = []
        for group in groups:
            if group[0] & names:
                names, members = names | group[0], group[1] + members
            else:
                apart.append(group)
        groups = [*apart, (names, members)]
    return [tuple(sorted(members, key=_explains)) for _, members in groups]


def _names(cause: CauseView, ids: Sequence[str]) -> set[str]:
    """What a cause is called by; those that share a name are one."""
    names = {cause.id, *(other for other in ids if cause.id.startswith(f"{other}-"))}
    referred = _referred(cause)
    return names | {referred if referred else first_sentence(cause.why)}


def _referred(cause: CauseView) -> str:
    """The id of the entry that this one is explained by, or an empty string."""
    match = _AS.match(cause.why)
    return match[1].rstrip(".") if match else ""


def _explains(cause: CauseView) -> tuple[bool, int, int, str]:
    return bool(_referred(cause)), severity(cause.oracle), -cause.count, cause.id


def first_sentence(why: str) -> str:
    """Up to the first full stop that ends a sentence; a version's dots end none."""
    return re.split(r"(?<=\.) (?=[A-Z0-9])", why.strip(), maxsplit=1)[0]


def _cells(failed: pd.DataFrame, cause: CauseView) -> pd.DataFrame:
    return failed[
        failed["case"].isin(cause.cases)
        & failed["route"].isin(cause.routes)
        & (failed["oracle"] == cause.oracle)
        & (failed["label"] == cause.label)
    ]


def _live(
    group: Sequence[CauseView],
    seen: Sequence[tuple[CauseView, pd.DataFrame]],
    subject: str,
    order: Sequence[str],
) -> LiveCause:
    cells = pd.concat([frame for _, frame in seen])
    entries = sorted((cause for cause, _ in seen), key=_explains)
    worst = min(entries, key=lambda cause: severity(cause.oracle))
    packages = set(cells.loc[cells["lane"] != Lane.GRAPH.value, "case"])
    cases = sorted(set(cells["case"]), key=lambda name: (name in packages, order.index(name)))
    smallest = cells[cells["case"] == cases[0]].sort_values(["oracle", "route"]).iloc[0]
    whole = len(entries) == 1 and entries[0] is group[0]
    return LiveCause(
        id=group[0].id,
        why=group[0].why if whole else first_sentence(group[0].why),
        oracle=worst.oracle,
        label=worst.label,
        upstream=tuple(dict.fromkeys(c.upstream for c in entries if _is_reference(c.upstream))),
        cells=_count(cells, Lane.GRAPH),
        package_cells=_count(cells, Lane.PACKAGE),
        engine_cells=_count(cells, Lane.ENGINE),
        cases=tuple(cases),
        routes=tuple(str(route) for route in cells["route"].sort_values().unique()),
        entries=tuple(_seen_as(cause, frame) for cause, frame in seen),
        subject=subject,
        route=str(smallest["route"]),
        capture=str(smallest["capture"]),
        command=(
            f"python -m harness explain {cases[0]} --subject {subject} --route {smallest['route']}"
        ),
    )


def _seen_as(cause: CauseView, cells: pd.DataFrame) -> SeenAs:
    counts = (_count(cells, lane) for lane in (Lane.GRAPH, Lane.PACKAGE, Lane.ENGINE))
    return SeenAs(cause.id, cause.oracle, cause.label, cause.why, *counts)


def _count(cells: pd.DataFrame, lane: Lane) -> int:
    return int(cells.loc[cells["lane"] == lane.value, "cell"].nunique())


def _is_reference(upstream: str) -> bool:
    return upstream not in ("", "unknown")
