"""How much of the structure space the corpus covers: single values, and pairs of values.

A pair is two values of different axes; a case covers it if it has both. Pairs that no split module
can have are declared in the corpus, each with its reason, and are not counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.base.errors import SurroundingsError

PAIRS_WANTED = 0.9

Pair = frozenset[str]


@dataclass(frozen=True)
class Space:
    """The axes in order, each with its values' ids and words, and the impossible pairs with why.

    ``unreachable`` are values that no case can have, with the reason; they are in no axis.
    ``alone`` names the axes whose values need a case each, and no pairs.
    """

    axes: Mapping[str, Mapping[str, str]]
    impossible: Mapping[Pair, str]
    unreachable: Mapping[str, str] = field(default_factory=dict)
    alone: frozenset[str] = frozenset()

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for values in self.axes.values() for value in values)

    def pairs(self) -> list[tuple[str, str]]:
        """Every two values of different axes that can exist, in the order of the axes."""
        paired = [values for name, values in self.axes.items() if name not in self.alone]
        return [
            pair
            for one, other in itertools.combinations(paired, 2)
            for pair in itertools.product(one, other)
            if frozenset(pair) not in self.impossible
        ]


@dataclass(frozen=True)
class Coverage:
    """The coverage of the space: each value's cases, and the pairs that no case has."""

    space: Space
    cases_of: Mapping[str, tuple[str, ...]]
    possible_pairs: int
    missing_pairs: tuple[tuple[str, str], ...]
    contradicted: tuple[tuple[str, str], ...]  # declared impossible, yet a case has both

    @property
    def missing_values(self) -> tuple[str, ...]:
        return tuple(value for value, cases in self.cases_of.items() if not cases)

    @property
    def single(self) -> float:
        """The share of values that a case has, 0 to 1."""
        return _share(len(self.cases_of) - len(self.missing_values), len(self.cases_of))

    @property
    def pairwise(self) -> float:
        """The share of possible pairs that a case has, 0 to 1."""
        return _share(self.possible_pairs - len(self.missing_pairs), self.possible_pairs)

    @property
    def enough(self) -> bool:
        return not self.missing_values and self.pairwise >= PAIRS_WANTED and not self.contradicted


def read_extraction(data: Mapping[str, Any]) -> tuple[Space, dict[str, tuple[str, ...]]]:
    """What the rig printed: the space, and each case's values."""
    try:
        axes = {axis["name"]: dict(axis["values"]) for axis in data["axes"]}
        impossible = {frozenset(item["pair"]): item["reason"] for item in data["impossible"]}
        cases = {name: tuple(values) for name, values in data["cases"].items()}
        unreachable = dict(data["unreachable"])
        alone = frozenset(axis["name"] for axis in data["axes"] if axis.get("alone"))
    except (KeyError, TypeError) as error:
        raise SurroundingsError(
            f"the coverage extraction cannot be read ({error!r}); remove the folder `coverage` of "
            "the cache"
        ) from error
    return Space(axes, impossible, unreachable, alone), cases


def cover(space: Space, cases: Mapping[str, Iterable[str]]) -> Coverage:
    """The coverage of the space by the values of each case."""
    cases_of: dict[str, list[str]] = {value: [] for value in space.values}
    covered: set[Pair] = set()
    for name, held in cases.items():
        values = list(held)
        for value in values:
            cases_of[value].append(name)
        covered.update(frozenset(pair) for pair in itertools.combinations(values, 2))
    possible = space.pairs()
    contradicted = [tuple(sorted(pair)) for pair in covered if pair in space.impossible]
    return Coverage(
        space=space,
        cases_of={value: tuple(names) for value, names in cases_of.items()},
        possible_pairs=len(possible),
        missing_pairs=tuple(pair for pair in possible if frozenset(pair) not in covered),
        contradicted=tuple(sorted((one, other) for one, other in contradicted)),
    )


def to_lines(coverage: Coverage, *, all_missing: bool = False) -> list[str]:
    """The table for a person: axes by cases, the two shares, and what is missing."""
    space = coverage.space
    lines = []
    for axis, values in space.axes.items():
        lines.append(axis)
        for value, what in values.items():
            cases = coverage.cases_of[value]
            shown = ", ".join(cases[:2]) + (", ..." if len(cases) > 2 else "")
            name = value.removeprefix(f"{axis}/")
            lines.append(f"  {name:16} {len(cases):4} cases  {what}: {shown or 'MISSING'}")
    values_held = len(coverage.cases_of) - len(coverage.missing_values)
    covered = coverage.possible_pairs - len(coverage.missing_pairs)
    lines += [
        f"single values: {values_held} of {len(coverage.cases_of)} ({coverage.single:.1%})",
        f"pairs: {covered} of {coverage.possible_pairs} that can exist "
        f"({coverage.pairwise:.1%}); {len(space.impossible)} cannot",
    ]
    lines += [f"no case can have {value}: {why}" for value, why in space.unreachable.items()]
    lines += [f"missing: {value}" for value in coverage.missing_values]
    lines += [
        f"declared impossible, but a case has both: {one} with {other}: "
        f"{space.impossible[frozenset((one, other))]}"
        for one, other in coverage.contradicted
    ]
    lines += _missing_pairs(coverage.missing_pairs, all_missing)
    return lines


def to_json(coverage: Coverage) -> dict[str, Any]:
    return {
        "values": {value: list(cases) for value, cases in coverage.cases_of.items()},
        "single": coverage.single,
        "pairwise": coverage.pairwise,
        "possible_pairs": coverage.possible_pairs,
        "missing_values": list(coverage.missing_values),
        "missing_pairs": [list(pair) for pair in coverage.missing_pairs],
        "contradicted": [list(pair) for pair in coverage.contradicted],
        "unreachable": dict(coverage.space.unreachable),
        "impossible": [
            {"pair": sorted(pair), "reason": reason}
            for pair, reason in sorted(
                coverage.space.impossible.items(), key=lambda item: sorted(item[0])
            )
        ],
    }


def _missing_pairs(pairs: Sequence[tuple[str, str]], every: bool) -> list[str]:
    if every:
        return [f"missing pair: {one} with {other}" for one, other in pairs]
    most = sorted(
        ((sum(value in pair for pair in pairs), value) for value in {v for p in pairs for v in p}),
        key=lambda item: (-item[0], item[1]),
    )
    return [f"missing in {count} pairs: {value}" for count, value in most[:5]]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
