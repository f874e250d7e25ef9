"""Sizes, doubles and caches at an engine's boundary, as a release has them and as TensorRT does."""

import pytest

from tests.rig.package.boundaries import (
    boundaries,
    cache_written_in_one_engine,
    rows_written_with_a_step,
    writes_of_engines,
)

BUILDERS = pytest.mark.parametrize(
    "builder", ["segment", pytest.param("tensorrt-rtx", marks=pytest.mark.slow)]
)


@BUILDERS
@pytest.mark.parametrize("release", ["2.13.0", "2.14.0"])
def test_sizes_and_doubles_go_through_engines_as_the_release_has_them(
    release, builder, ask_package
):
    answer = ask_package(release, boundaries, builder=builder)
    # A tensor of one element does where PyTorch takes a size, and not where it takes a number.
    assert answer["reshaped"] == {"in memory": "right", "saved": "right"}
    for how in ("in memory", "saved"):
        assert answer["counted"][how].startswith("RuntimeError: aten::arange() Expected a value of")
    assert answer["squared"] == answer["weighted"] == "right"
    assert "expected to have type torch.float32" in answer["squared as it is"]
    assert answer["weighted as it is"].startswith("ValueError: TensorRT does not support float64")


@BUILDERS
def test_an_engine_writes_to_the_cache_that_it_is_given(builder, ask_package):
    answer = ask_package("2.14.0", cache_written_in_one_engine, builder=builder)
    assert answer["outputs"] == ["output0", "output1"]
    assert answer["aliased"] == {"output1": ["buf_keys", "kv_cache_update"]}
    assert answer["written"]
    assert answer["same keys"]
    assert answer["agree"] == [True, True, True]


@BUILDERS
def test_a_clone_does_not_keep_an_engine_of_2_14_from_writing_into_its_input(builder, ask_package):
    answer = ask_package(
        "2.14.0", writes_of_engines, "band_painted_over_a_cloned_image", builder=builder
    )
    assert answer == {"written": [["image", "kv_cache_update"]], "inputs kept": [False, True]}


@BUILDERS
def test_up_to_2_13_no_engine_writes_into_its_input(builder, ask_package):
    answer = ask_package(
        "2.13.0", writes_of_engines, "band_painted_over_a_cloned_image", builder=builder
    )
    assert answer == {"written": [], "inputs kept": [True, True]}


def test_an_index_copy_of_a_clone_is_no_write_into_the_input(ask_package):
    """Its converter asks the graph for an input, and not the network, in which a clone is one."""
    answer = ask_package("2.14.0", writes_of_engines, "row_copied_into_an_input")
    assert answer["written"] == [["x", "kv_cache_update"]]
    cloned = ask_package("2.14.0", writes_of_engines, "row_copied_into_a_cloned_input")
    assert cloned == {"written": [], "inputs kept": [True, True, True]}


@BUILDERS
def test_rows_that_are_written_with_a_step_land_one_behind_the_other_in_2_14(builder, ask_package):
    answer = ask_package("2.14.0", rows_written_with_a_step, builder=builder)
    assert answer == {"compiled": [0, 1, 2, 3], "eager": [0, 2, 4, 6]}
