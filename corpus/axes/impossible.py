"""Pairs of values that no split module can have, as rules, each with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from corpus.axes.space import Axis

Pair = tuple[str, str]

_ENGINES = (
    "engine *",
    "payload/*",
    "readers/*engine*",
    "readers/both",
    "fallback input/engine-output",
    "sizes/into-engine",
    "submodule/compiled-before",
)
_FALLBACKS = (
    "fallback *",
    "placeholder name/*",
    "argument order/*",
    "attribute*",
    "submodule/cond",
    "submodule/while-loop",
    "submodule/map",
    "readers/*fallback*",
    "readers/both",
    "engine input/fallback-output",
    "state/aliasing",
)
_CHILDREN = (*_ENGINES, *_FALLBACKS, "readers/*", "call/*", "state/*", "steps/*", "fan-*")
_TWO_CHILDREN = (
    "parent/both",
    "readers/two-*",
    "readers/many-*",
    "readers/both",
    "engine input/engine-output",
    "engine input/fallback-output",
    "fallback input/engine-output",
    "fallback input/fallback-output",
    "call/twice",
    "attribute sharing/two-fallbacks",
    "attribute sharing/other-values",
    "fan-out/few",
    "fan-out/dozens",
)
# What torch.export and today's splitter do not emit, so that it is made by hand.
_HANDMADE = (
    "fallback output form/one-tuple",
    "fallback output form/list",
    "fallback output form/nested",
    "fallback output/passed-through",
    "fallback output/none",
    "fallback output/int",
    "fallback output/same-twice",
    "fallback output use/whole",
    "fallback output use/both",
    "engine output use/twice",
    "engine output use/whole",
    "call/other-name",
    "call/twice",
    "call/keywords",
    "call/nested",
    "parent/loose-ops",
    "submodule/compiled-before",
    "attribute sharing/other-values",
)


@dataclass(frozen=True)
class Rule:
    """No value that ``one`` matches goes with one that ``other`` matches. Globs over value ids."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    reason: str

    def forbids(self, pair: Pair) -> bool:
        left, right = pair
        return (_any(self.one, left) and _any(self.other, right)) or (
            _any(self.one, right) and _any(self.other, left)
        )


RULES = (
    Rule(("parent/only-fallbacks",), _ENGINES, "there is no engine"),
    Rule(("parent/only-engines",), _FALLBACKS, "there is no fallback"),
    Rule(("parent/neither",), _CHILDREN, "there is no child"),
    Rule(("steps/one",), _TWO_CHILDREN, "it takes two children"),
    Rule(("steps/few",), ("fan-out/dozens",), "a dozen readers are a dozen children"),
    Rule(
        ("fan-out/one",),
        ("readers/two-*", "readers/many-*", "readers/both"),
        "a value has more than one reader",
    ),
    Rule(
        ("fan-in/one",),
        (
            "engine input/same-twice",
            "fallback input/same-twice",
            "argument order/*",
            "placeholder name/several",
        ),
        "a child has more than one input",
    ),
    Rule(
        ("dimensions/static",),
        ("sizes/bounds", "sizes/shared", "sizes/derived"),
        "no dimension of an input is dynamic",
    ),
    Rule(
        ("model outputs/none",),
        ("engine output use/returned", "state/returned", "model input use/returned"),
        "the model returns something",
    ),
    Rule(
        ("arguments/default",),
        _HANDMADE,
        "a default is the signature's, which a split module made by hand has not",
    ),
)


def reason_against(pair: Pair) -> str:
    """Why no split module has both values; empty if one can."""
    return next((rule.reason for rule in RULES if rule.forbids(pair)), "")


def all_pairs(axes: tuple[Axis, ...]) -> Iterator[Pair]:
    """Every two values of different axes that are to be seen in pairs."""
    paired = [each for each in axes if not each.alone]
    for one, other in itertools.combinations(paired, 2):
        for left, right in itertools.product(one.values, other.values):
            yield left.id, right.id


def impossible_pairs(axes: tuple[Axis, ...]) -> Iterator[tuple[Pair, str]]:
    """The pairs that cannot exist, with the reason."""
    for pair in all_pairs(axes):
        reason = reason_against(pair)
        if reason:
            yield pair, reason


def _any(patterns: tuple[str, ...], value: str) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)
