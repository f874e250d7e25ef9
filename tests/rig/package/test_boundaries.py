"""Sizes, doubles and caches at an engine's boundary, as a release has them and as TensorRT does."""

import pytest

from tests.rig.package.boundaries import boundaries, cache_written_in_one_engine


@pytest.mark.parametrize(
    "builder", ["segment", pytest.param("tensorrt-rtx", marks=pytest.mark.slow)]
)
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


@pytest.mark.parametrize(
    "builder", ["segment", pytest.param("tensorrt-rtx", marks=pytest.mark.slow)]
)
def test_an_engine_writes_to_the_cache_that_it_is_given(builder, ask_package):
    answer = ask_package("2.14.0", cache_written_in_one_engine, builder=builder)
    assert answer["outputs"] == ["output0", "output1"]
    assert answer["aliased"] == {"output1": ["buf_keys", "kv_cache_update"]}
    assert answer["written"]
    assert answer["same keys"]
    assert answer["agree"] == [True, True, True]
