"""Which cases a run takes: by name, by family, and by lane."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from harness.base.errors import UsageError
from harness.base.program import PROGRAM
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane


def select_cases(
    cases: Sequence[CaseInfo],
    expression: str = "",
    families: Collection[str] = (),
    names: Collection[str] = (),
    *,
    full: bool = True,
    lanes: Collection[Lane] = (Lane.GRAPH, Lane.PACKAGE),
) -> tuple[CaseInfo, ...]:
    """The cases that an expression and families choose, each with the lanes of this run.

    Args:
        expression: words that a case's name or family must contain, with `and`, `or`, `not`: as
            pytest's -k, without brackets. Empty for all.
        families: families' names, or parts of them; empty for all.
        names: whole names of cases; empty for all.
        full: also take the cases, and the lanes of a case, that only a full run takes.
        lanes: take no other lanes.
    """
    known = sorted({case.family for case in cases})
    for family in families:
        if not any(family.lower() in name.lower() for name in known):
            raise UsageError(f"no family is named like {family!r}; there are: {', '.join(known)}")
    if unknown := sorted(set(names) - {case.name for case in cases}):
        raise UsageError(f"no case is named {', '.join(unknown)}; `{PROGRAM} list` shows them all")
    chosen = tuple(
        case
        for case in (_through(case, lanes, full) for case in cases)
        if case.lanes
        and _chosen(expression, f"{case.name} {case.family}".lower())
        and (not names or case.name in names)
        and (not families or any(name.lower() in case.family.lower() for name in families))
    )
    if not chosen:
        raise UsageError(
            "no case matches "
            f"{expression or ', '.join([*families, *names])!r}; `{PROGRAM} list` "
            f"shows them all{'' if full else ', and some are for `--full` alone'}"
        )
    return chosen


def _through(case: CaseInfo, lanes: Collection[Lane], full: bool) -> CaseInfo:
    """The case with those of its lanes that this run takes."""
    left_out = () if full else case.full
    taken = (lane for lane in case.lanes if lane in lanes and lane not in left_out)
    return dataclasses.replace(case, lanes=tuple(taken))


def _chosen(expression: str, text: str) -> bool:
    """`or` binds loosest, then `and`, then `not`."""
    words = expression.lower().split()
    if not words:
        return True
    return any(
        all(_holds(term, text, expression) for term in _parted(clause, "and"))
        for clause in _parted(words, "or")
    )


def _parted(words: Sequence[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _holds(term: Sequence[str], text: str, expression: str) -> bool:
    negations = [word for word in term if word == "not"]
    names = [word for word in term if word != "not"]
    if len(names) != 1 or list(term[: len(negations)]) != negations:
        raise UsageError(f"-k {expression!r}: expected words joined by `and`, `or`, `not`")
    return (names[0] in text) ^ (len(negations) % 2 == 1)
