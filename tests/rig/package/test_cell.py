"""A cell of the package lane with the newest release: sound, and with faults planted in it."""

from functools import cache

import pytest

from tests.rig.package.faulty_cells import RELEASE, faulty_cell

LIST_FOR_TENSOR = "element of an engine: a list for a tensor"  # listed: every release has it


@pytest.fixture(scope="module")
def failures(ask_package):
    """What is not ok of the cell, saved with retrace=False, with a fault planted."""
    return cache(lambda fault: ask_package(RELEASE, faulty_cell, "no-retrace", "emulated", fault))


def test_a_sound_cell_passes_but_for_what_the_release_is_known_for(failures):
    sound = failures("none")
    assert set(sound) == {"metadata", "unflatten"}
    assert sound["metadata"] == ["wrong-metadata@export", LIST_FOR_TENSOR]


def test_swapped_elements_are_seen_in_the_values_and_in_the_wires(failures):
    found = failures("swap_outputs")
    assert found["values"][0].startswith("wrong-values")
    assert found["wiring"] == ["wrong-wiring@inline-fallbacks", "reads another engine output"]


def test_a_fresh_process_that_dies_is_a_verdict(failures):
    found = failures("die_at_load")
    assert found["completion"] == ["killed@load", "fresh process ended by SIGKILL"]
    assert found["values"][0] == "n/a"


def test_what_torch_raised_is_told_in_place_of_what_the_package_says_of_it(failures):
    label, message = failures("fail_at_load")["completion"]
    assert label == "error@load"
    assert "elsewhere.pt2" in message


def test_values_are_those_of_the_fresh_process_and_no_other_oracle_sees_them(failures):
    found = failures("add_at_run")
    assert found["values"] == ["wrong-values@run", "numbers differ"]
    assert found.keys() - failures("none").keys() == {"values"}


def test_where_the_compiled_module_is_wrong_too_a_program_is_told_by_what_eager_computes(failures):
    """Its numbers differ from the compiled module's, and its type from eager's."""
    found = failures("add_to_what_is_wrong_in_memory")["values"]
    assert found == ["wrong-values@run", "dtype differs"]


def test_a_program_whose_engines_never_ran_is_no_pass(failures):
    assert failures("forget_runs")["values"] == ["wrong-values@run", "no engine ran"]


def test_a_program_that_engines_do_not_change_is_no_pass(failures):
    found = failures("tamper_with_nothing")["values"]
    assert found == ["wrong-values@run", "engines that return something else change nothing"]


def test_a_model_that_makes_nothing_of_what_engines_return_is_not_called_wrong(failures):
    assert "values" not in failures("cancel_out")


def test_a_save_that_writes_to_the_compiled_module_is_seen(failures):
    found = failures("write_to_the_module")["structure"]
    assert found == ["wrong-structure@save", "saving changed the module it was given"]
