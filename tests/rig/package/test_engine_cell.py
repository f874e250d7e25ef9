"""A cell of the engine lane up to the first call of CUDA: its own executor, on the CPU.

Everything is as on a GPU but for the device, and for the engines, which are emulated: models are
moved, TF32 is off, the module in memory is asked twice, and archives are loaded in new processes.
"""

import pytest

from tests.rig.package.faulty_cells import RELEASE, faulty_cell


@pytest.fixture(scope="module")
def failures(ask_package):
    """What is not ok of the cell with a fault planted, saved with retrace=False."""
    return lambda fault: ask_package(RELEASE, faulty_cell, "no-retrace", "cuda-forking", fault)


@pytest.fixture(scope="module")
def compiled(ask_package):
    """Likewise of the compiled module in memory."""
    return lambda fault: ask_package(RELEASE, faulty_cell, "compile", "cuda-forking", fault)


def test_a_sound_cell_passes_but_for_what_the_release_is_known_for(failures):
    assert set(failures("none")) == {"metadata", "unflatten"}


def test_one_bit_of_a_reloaded_program_is_seen(failures):
    found = failures("flip_a_bit_when_loaded")["values"]
    assert found == ["wrong-values@run", "numbers differ"]


def test_a_module_that_disagrees_with_itself_is_told_and_held_against_nothing_bit_for_bit(compiled):
    found = compiled("answer_otherwise_every_time")["values"]
    assert found == ["wrong-values@compile", "split module against itself: numbers differ"]


@pytest.mark.parametrize(
    ("executor", "values"),
    [
        ("rtx-forking", None),
        ("cuda-forking", ["wrong-values@compile", "split module against itself: numbers differ"]),
    ],
)
def test_engines_of_tensorrt_rtx_may_change_digits_from_call_to_call_where_sizes_vary(
    ask_package, executor, values
):
    fault = "answer_otherwise_for_sizes_that_vary"
    compiled = ask_package(RELEASE, faulty_cell, "compile", executor, fault)
    assert compiled.get("values") == values
    saved = ask_package(RELEASE, faulty_cell, "no-retrace", executor, fault)
    assert "values" not in saved
    assert {"metadata", "unflatten"} <= set(saved), "it was asked"


def test_engines_are_held_against_eager_within_their_own_tolerance(compiled):
    assert "values" not in compiled("scale_eager_within_the_tolerance")
    found = compiled("scale_eager_beyond_the_tolerance")["values"]
    assert found == ["wrong-values@compile", "split module against eager: numbers differ"]


def test_saving_a_module_that_is_wrong_in_memory_is_not_asked(failures):
    state, reason = failures("scale_eager_beyond_the_tolerance")["state"]
    assert state == "unsupported"
    assert reason.startswith("compile: the compiled module computes something else in memory")


@pytest.mark.slow
def test_nobody_forks_and_a_new_process_loads_the_same(ask_package):
    found = ask_package(RELEASE, faulty_cell, "no-retrace", "cuda", "forbid_forks")
    assert set(found) == {"metadata", "unflatten"}
