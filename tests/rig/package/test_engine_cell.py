"""A cell of the engine lane up to the first call of CUDA: its own executor, on the CPU.

Everything is as on a GPU but for the device, and for the engines, which are emulated: models are
moved, TF32 is off, the module in memory is asked twice, and archives are loaded in new processes.
"""

from __future__ import annotations

import pytest

from harness.catalogue.releases import Catalogue
from harness.toolchain import PackageSite, Toolchain
from harness.wire.routes import Route
from tests.rig.package.test_cell import Answers, answers_of

SAVED = ("none", "flip_a_bit_when_loaded", "scale_eager_beyond_the_tolerance")
COMPILED = (
    "answer_otherwise_every_time",
    "scale_eager_beyond_the_tolerance",
    "scale_eager_within_the_tolerance",
)


@pytest.fixture(scope="module")
def site(toolchain: Toolchain, catalogue: Catalogue) -> PackageSite:
    return toolchain.package_site(catalogue.get("2.14.0"))


@pytest.fixture(scope="module")
def answers(site: PackageSite) -> Answers:
    """What became of one cell for each fault, saved with retrace=False."""
    return answers_of(site, "cuda-forking", *SAVED)


@pytest.fixture(scope="module")
def compiled(site: PackageSite) -> Answers:
    """Likewise of the compiled module in memory."""
    return answers_of(site, "cuda-forking", *COMPILED, route=Route.COMPILE)


def test_a_sound_cell_passes_but_for_what_the_release_is_known_for(answers: Answers) -> None:
    assert set(answers["none"]) == {"metadata", "unflatten"}


def test_one_bit_of_a_reloaded_program_is_seen(answers: Answers) -> None:
    found = answers["flip_a_bit_when_loaded"]["values"]
    assert found == ["wrong-values@run", "numbers differ"]


def test_a_module_that_disagrees_with_itself_is_told_and_held_against_nothing_bit_for_bit(
    compiled: Answers,
) -> None:
    found = compiled["answer_otherwise_every_time"]["values"]
    assert found == ["wrong-values@compile", "split module against itself: numbers differ"]


def test_engines_are_held_against_eager_within_their_own_tolerance(compiled: Answers) -> None:
    assert "values" not in compiled["scale_eager_within_the_tolerance"]
    found = compiled["scale_eager_beyond_the_tolerance"]["values"]
    assert found == ["wrong-values@compile", "split module against eager: numbers differ"]


def test_saving_a_module_that_is_wrong_in_memory_is_not_asked(answers: Answers) -> None:
    state, reason = answers["scale_eager_beyond_the_tolerance"]["state"]
    assert state == "unsupported"
    assert reason.startswith("compile: the compiled module computes something else in memory")


@pytest.mark.slow
def test_nobody_forks_and_a_new_process_loads_the_same(site: PackageSite) -> None:
    found = answers_of(site, "cuda", "forbid_forks")["forbid_forks"]
    assert set(found) == {"metadata", "unflatten"}
