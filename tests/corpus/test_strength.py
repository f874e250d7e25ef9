"""A case whose numbers cannot show a swapped wire is a weak case.

Any two edges of one type in a case's split module change places, and a value has to change on the
case's calls. That a swap makes no other program, as where a value stands under two names, is told
by the terms of both, and so is a swap of what commutes. Drawn and found programs are left out:
their numbers are nobody's choice.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
import torch

from corpus.case import Case, Family, Origin, Program, cases_of, find_case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats
from harness.rig.engines.emulated import load_runtime
from tests.chosen import quick_first
from tests.corpus.swapping import Edge, Split, computes_alike, shows, split_of, swapped, swaps

SAMPLED = 3  # swaps a case; all of them where the test is the slow one

CASES = [case for case in cases_of("graph") if case.family not in (Family.DRAWN, Family.FOUND)]
SMALL = [case for case in CASES if case.family is not Family.ARCHITECTURES]

# (case, one edge, the other): why no number can tell them apart.
SYMMETRIC: dict[tuple[str, str, str], str] = {
    ("every_interface_at_once", "_run_on_acc_15[0]", "_run_on_acc_15[4]"): (
        "summands, and the half of the cat that one of them is in too is read by nobody"
    ),
}


@pytest.fixture(autouse=True)
def runtime(library: Path) -> None:
    """Terms of a program know the engine's op."""
    torch.set_num_threads(1)
    load_runtime(library)


def weak_swaps(split: Split, most: int | None) -> list[tuple[str, str, str]]:
    """Swaps that no call shows and that nobody has declared, among so many or among all."""
    name = split.case.name
    possible = list(swaps(split))
    random.Random(split.case.seed).shuffle(possible)
    weak = []
    for one, other in itertools.islice(possible, most):
        if (name, str(one), str(other)) in SYMMETRIC:
            continue
        if shows(split, swapped(split.module, one, other)):
            continue
        if not computes_alike(split.module, swapped(split.module, one, other)):
            weak.append((name, str(one), str(other)))
    return weak


@pytest.mark.parametrize("name", quick_first(case.name for case in SMALL))
def test_a_swapped_wire_changes_a_value(name: str) -> None:
    assert weak_swaps(split_of(find_case(name)), SAMPLED) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_swapped_wire_changes_a_value(case: Case) -> None:
    assert weak_swaps(split_of(case), None) == []


@pytest.mark.parametrize("declared", sorted(SYMMETRIC))
def test_what_is_declared_symmetric_is(declared: tuple[str, str, str]) -> None:
    name, *edges = declared
    split = split_of(next(case for case in CASES if case.name == name))
    (pair,) = [pair for pair in swaps(split) if [str(edge) for edge in pair] == edges]
    assert not shows(split, swapped(split.module, *pair))


def handmade(build: object) -> Case:
    return Case("a_case", Family.SHARED_VALUES, Origin.HANDMADE, "a swapped wire", build)  # type: ignore[arg-type]


def test_a_weak_case_is_found() -> None:
    """Also where the two values are an engine's and a fallback's: the splitter types neither."""

    def symmetric() -> Program:
        builder = SplitBuilder()
        x = builder.input("x", 2, 8)
        low = builder.engine(lambda a: a - 9, x)
        lower = builder.fallback(lambda a: a - 18, low)
        return Program(
            floats((2, 8)),
            split=builder.finish(
                builder.engine(lambda a, b: torch.relu(a) - torch.relu(b), low, lower)
            ),
        )

    weak = weak_swaps(split_of(handmade(symmetric)), None)
    assert weak == [("a_case", "_run_on_acc_2[0]", "_run_on_acc_2[1]")]


@pytest.mark.parametrize("alpha", [1, 2])
def test_what_commutes_is_no_swap_and_a_scaled_sum_does_not_commute(alpha: int) -> None:
    def added() -> Program:
        builder = SplitBuilder()
        x, y = builder.input("x", 2, 8), builder.input("y", 2, 8)
        summed = builder.engine(lambda a, b: torch.add(a, b, alpha=alpha), x, y)
        return Program(floats((2, 8), (2, 8)), split=builder.finish(summed))

    split = split_of(handmade(added))
    (pair,) = swaps(split)
    assert computes_alike(split.module, swapped(split.module, *pair)) is (alpha == 1)
    assert weak_swaps(split, None) == []


def test_a_strong_case_is_not_and_a_value_under_two_names_is_no_swap() -> None:
    def strong() -> Program:
        builder = SplitBuilder()
        x = builder.input("x", 2, 8)
        both = builder.engine(lambda a: (a + 1, a * 2), x)
        again, first, second = (builder.item(both, index) for index in (0, 0, 1))
        return Program(
            floats((2, 8)),
            split=builder.finish(builder.fallback(lambda a, b, c: a - b * c, again, first, second)),
        )

    split = split_of(handmade(strong))
    alike = (Edge("_run_on_gpu_1", 0, "getitem"), Edge("_run_on_gpu_1", 1, "getitem_1"))
    assert alike in list(swaps(split))
    assert computes_alike(split.module, swapped(split.module, *alike))
    assert weak_swaps(split, None) == []
