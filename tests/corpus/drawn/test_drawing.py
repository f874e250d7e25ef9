from __future__ import annotations

import itertools
import random

import pytest

from corpus.drawn.drawing import DRAWN_FILE, draw, drawn_blueprints, pairs_of, to_text
from corpus.drawn.motifs import MOTIFS
from corpus.drawn.recipes import ENGINES, FALLBACKS, FATAL_FORMS, STATIC, random_recipe

SIZES, COLOURS = ("size/1", "size/2", "size/3"), ("colour/red", "colour/blue")
WEIGHTS = ("weight/light", "weight/heavy")
UNIVERSE = {
    frozenset(pair)
    for one, other in itertools.combinations((SIZES, COLOURS, WEIGHTS), 2)
    for pair in itertools.product(one, other)
}


def candidate(source: random.Random) -> frozenset[str]:
    return frozenset(source.choice(values) for values in (SIZES, COLOURS, WEIGHTS))


def drawn(seed: int, most: int = 50) -> list[int]:
    return draw(candidate, seed, tries=20, most=most, wanted=1.0, universe=UNIVERSE)


def covered(seeds: list[int]) -> set[frozenset[str]]:
    return {pair for seed in seeds for pair in pairs_of(candidate(random.Random(seed)))}


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_of_a_small_space_is_covered_by_few(seed):
    taken = drawn(seed)
    assert covered(taken) == UNIVERSE
    assert len(taken) <= 9  # six are the least that can be


def test_one_seed_draws_the_same_and_another_does_not():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_drawing_stops_at_the_most():
    assert len(drawn(1, most=2)) == 2


def test_values_of_one_axis_make_no_pair():
    assert pairs_of(["size/1", "size/2", "colour/red"]) == {
        frozenset(("size/1", "colour/red")),
        frozenset(("size/2", "colour/red")),
    }


@pytest.mark.parametrize("seed", range(40))
def test_a_recipe_has_at_most_one_value_that_ends_every_program(seed):
    recipe = random_recipe(random.Random(seed))
    fatal = [motif.name for motif in recipe.motifs if motif.fatal]
    fatal += [form for form in recipe.forms if form in FATAL_FORMS]
    assert len(fatal) <= 1
    assert not (recipe.parent == ENGINES and any(motif.fallbacks for motif in recipe.motifs))
    assert not (recipe.parent == FALLBACKS and any(motif.engines for motif in recipe.motifs))
    assert not (recipe.dims == STATIC and any(motif.dynamic for motif in recipe.motifs))


def test_motifs_have_names_of_their_own():
    names = [motif.name for motif in MOTIFS]
    assert len(set(names)) == len(names)


@pytest.mark.slow  # every draw anew
def test_the_committed_cases_are_those_that_are_drawn():
    assert DRAWN_FILE.read_text() == to_text(drawn_blueprints())
