"""Stand-ins are what the catalogue's reader takes for granted, and take no part in inlining."""

from pathlib import Path

import pytest
from torch.fx.experimental import proxy_tensor

from harness.catalogue.wheel_text import LEANS_ON, STAND_INS
from harness.rig.inliners import surroundings

WHEEL = Path("a.whl")


def test_the_reader_of_wheels_knows_every_stand_in():
    assert set(surroundings.stand_ins(WHEEL)) == STAND_INS
    assert set(LEANS_ON) == {surroundings.PARTITIONING}


def test_what_inlining_never_calls_says_so_if_it_does():
    modules = surroundings.stand_ins(WHEEL)
    with pytest.raises(NotImplementedError, match="contains_sym_int is a stand-in"):
        modules["torch_tensorrt.dynamo.utils"].contains_sym_int([])
    with pytest.raises(NotImplementedError, match="Input is a stand-in"):
        modules["torch_tensorrt._Input"].Input(shape=[1])


def test_the_stand_in_for_partitioning_has_nothing_but_the_shape_analysis():
    with pytest.raises(AttributeError, match="has no partition"):
        _ = surroundings.stand_ins(WHEEL)[surroundings.PARTITIONING].partition


def test_torch_is_left_as_it_was(inliners):
    assert "2.4.0" in inliners  # whose `common.py` binds a name that torch no longer has
    assert not hasattr(proxy_tensor, "maybe_disable_fake_tensor_mode")
