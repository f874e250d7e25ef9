"""A captured program moved to another device, whole: seen on `meta`, which every machine has."""

import copy

import pytest
import torch
import torch.utils._pytree as pytree
from torch.fx.experimental import _config as config

from corpus.case import find_case
from corpus.selection import REAL_ENGINES
from harness.rig.capture.capture import capture, on_device, over_bound_inputs
from harness.rig.oracles.values import first_difference


def devices(values: object) -> set[str]:
    return {str(leaf.device) for leaf in pytree.tree_leaves(values) if hasattr(leaf, "device")}


@pytest.mark.parametrize("name", sorted(REAL_ENGINES))
# On `meta` nobody knows how many numbers are not zero.
@config.patch("meta_nonzero_assume_all_nonzero", True)
def test_everything_that_a_program_computes_with_is_moved(name):
    captured = capture(find_case(name), "nonstrict")
    before = copy.deepcopy(captured.eager)  # a call may change its state
    expected = before(*captured.example.args, **captured.example.kwargs)
    moved = on_device(captured, "meta")
    assert moved.exported is not None
    for call in moved.calls:
        # What was left behind, a constant or one that the code makes, would not go with these.
        assert devices(moved.exported.module()(*call.args, **call.kwargs)) == {"meta"}
    metadata = [node.meta.get("val") for node in moved.exported.graph.nodes]
    assert devices(metadata) == {"meta"}
    over = over_bound_inputs(moved)
    assert over is None or devices((over.args, dict(over.kwargs))) == {"meta"}
    # The model, whose values eager's are, stays where it was.
    again = captured.eager(*captured.example.args, **captured.example.kwargs)
    assert first_difference(expected, again) is None
    assert devices(list(captured.eager.state_dict().values())) <= {"cpu"}


def test_a_constant_that_the_code_makes_would_be_seen_if_it_were_left_behind():
    class Adds(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.arange(4)

    program = torch.export.export(Adds(), (torch.ones(4),))
    with pytest.raises(RuntimeError, match="device"):
        program.module()(torch.ones(4, device="meta"))
