"""Draws the handmade cases that cover pairs of values; `python -m corpus.drawn.drawing` does it.

A recipe is a frame (sizes, children, how the model is called and what it returns) and the motifs
that stand in it. Recipes are drawn greedily: of many random ones, each time the one that has most
pairs that no earlier one has, until ``wanted`` of all drawable pairs are covered. A motif that ends
every program at once hides what stands beside it, so a recipe has at most one of those.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from corpus.blueprints.blueprint import Blueprint, to_json
from corpus.drawn.recipes import (
    blueprint_of,
    lone_blueprint,
    long_recipe,
    random_recipe,
    silent_recipe,
)

DRAWN_FILE = Path(__file__).with_name("drawn.json")
SEED = 4360
TRIES = 100  # random recipes of which one is taken
WANTED = 0.99  # of the pairs that recipes can have
MOST = 58  # recipes

Pair = frozenset[str]


def pairs_of(values: Iterable[str]) -> set[Pair]:
    """Every two values of different axes."""
    return {
        frozenset(pair)
        for pair in itertools.combinations(sorted(values), 2)
        if pair[0].partition("/")[0] != pair[1].partition("/")[0]
    }


def draw(
    candidate: Callable[[random.Random], frozenset[str]],
    seed: int,
    *,
    tries: int,
    most: int,
    wanted: float,
    universe: set[Pair],
) -> list[int]:
    """Which candidates to take, by the seed that each is made from.

    Args:
        candidate: a set of values from a random source.
        universe: the pairs to cover.
    """
    source = random.Random(seed)
    missing = set(universe)
    taken: list[int] = []
    while len(missing) > (1 - wanted) * len(universe) and len(taken) < most:
        seeds = [source.randrange(2**32) for _ in range(tries)]
        best = max(seeds, key=lambda one: len(missing & pairs_of(candidate(random.Random(one)))))
        missing -= pairs_of(candidate(random.Random(best)))
        taken.append(best)
    return taken


def drawable_pairs(samples: int = 600) -> set[Pair]:
    """The pairs that recipes have, found by drawing many."""
    source = random.Random(SEED)
    found: set[Pair] = set()
    for _ in range(samples):
        found |= pairs_of(random_recipe(source).values)
    return found


def drawn_blueprints(most: int = MOST, wanted: float = WANTED) -> list[Blueprint]:
    """The same blueprints on every machine."""
    seeds = draw(
        lambda source: random_recipe(source).values,
        SEED,
        tries=TRIES,
        most=most,
        wanted=wanted,
        universe=drawable_pairs(),
    )
    recipes = [random_recipe(random.Random(seed)) for seed in seeds]
    drawn = [blueprint_of(recipe, f"drawn_{at:04}") for at, recipe in enumerate(recipes, start=1)]
    return [
        *drawn,
        blueprint_of(silent_recipe(random.Random(SEED)), "drawn_silent"),
        blueprint_of(long_recipe(random.Random(SEED)), "drawn_long"),
        lone_blueprint("drawn_lone_engine", engine=True),
        lone_blueprint("drawn_lone_fallback", engine=False),
    ]


def main() -> None:
    blueprints = drawn_blueprints()
    DRAWN_FILE.write_text(to_text(blueprints))
    print(f"{len(blueprints)} blueprints written to {DRAWN_FILE.name}")


def to_text(blueprints: Sequence[Blueprint]) -> str:
    """One blueprint a line, so that a change shows which."""
    lines = [
        json.dumps(to_json(item), sort_keys=True, separators=(",", ":")) for item in blueprints
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    main()
