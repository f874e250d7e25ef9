"""Random ops: shape and statistics, seen to tell distributions apart and nothing else."""

from collections.abc import Callable

import pytest
import torch

from corpus.case import Inputs
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles import draws
from harness.rig.oracles.observing import observe

Function = Callable[[torch.Tensor], torch.Tensor]
CALLS = (Inputs((torch.linspace(-2, 2, 16).reshape(2, 8),)),)


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._function(x)


def kind(expected: Function, got: Function) -> str | None:
    found = observe(Model(expected), CALLS).difference(observe(Model(got), CALLS))
    return found.kind if found else None


def dropout(rate: float) -> Function:
    return lambda x: torch.dropout(x, rate, True)


def normal(mean: float, deviation: float) -> Function:
    return lambda x: x + torch.normal(mean, deviation, (2, 8))


def chance(share: float) -> Function:
    return lambda x: torch.bernoulli(torch.full((2, 8), share))


def after_another_draw(function: Function) -> Function:
    """The same distribution from other numbers."""

    def drawn(x: torch.Tensor) -> torch.Tensor:
        torch.rand(5)
        return function(x)

    return drawn


DISTRIBUTIONS = [dropout(0.5), normal(0.0, 1.0), chance(0.25), lambda x: x * torch.rand(())]


@pytest.mark.parametrize("function", DISTRIBUTIONS)
def test_the_same_numbers_and_others_of_the_same_distribution_agree(function):
    assert kind(function, function) is None
    assert kind(function, after_another_draw(function)) is None
    assert kind(after_another_draw(function), function) is None


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (dropout(0.5), dropout(0.25)),
        (normal(0.0, 3.0), normal(1.0, 0.5)),
        (normal(0.0, 1.0), normal(0.0, 2.0)),
        (normal(0.0, 1.0), normal(1.0, 1.0)),
        (chance(0.25), chance(0.75)),
        (lambda x: torch.rand_like(x), lambda x: 2 * torch.rand_like(x)),
        (lambda x: torch.rand_like(x), lambda x: torch.randn_like(x)),
        (lambda x: x + torch.rand_like(x), lambda x: x.flip(1) + torch.rand_like(x)),
    ],
)
def test_another_distribution_is_seen(expected, got):
    assert kind(expected, got) == "another distribution"
    assert kind(expected, after_another_draw(got)) == "another distribution"


def test_numbers_that_are_no_longer_drawn_are_seen():
    frozen = torch.rand(2, 8)
    elsewhere = "random numbers are drawn elsewhere"
    assert kind(lambda x: x + torch.rand_like(x), lambda x: x + frozen) == elsewhere
    assert kind(lambda x: x + frozen, lambda x: x + torch.rand_like(x)) == elsewhere


def test_shape_and_type_are_part_of_what_is_drawn():
    assert kind(lambda x: torch.rand(2, 8), lambda x: torch.rand(8, 2)) == "shape differs"
    double = torch.float64
    assert kind(lambda x: torch.rand(3), lambda x: torch.rand(3, dtype=double)) == "dtype differs"


def test_drawing_leaves_the_generator_as_it_was():
    before = torch.get_rng_state()
    stacked, drew = draws.draw(lambda: (torch.rand(3), "text"), lambda results: False)
    assert (drew, stacked[0].shape, stacked[1]) == (True, (draws.DRAWS, 3), "text")
    assert torch.equal(torch.get_rng_state(), before)
    assert draws.draw(lambda: 1, lambda results: False) == (1, False)


def test_a_number_that_is_drawn_and_not_read_may_be_left_out():
    """So a transformer draws one for each layer, and skips layers in training alone."""
    assert kind(after_another_draw(torch.relu), torch.relu) is None
    assert kind(torch.relu, after_another_draw(torch.relu)) is None
    assert kind(after_another_draw(torch.relu), torch.sin) == "numbers differ"


class Noisy(torch.nn.Module):
    """What it draws is seen in what it leaves behind alone: in its input, or in its state."""

    def __init__(self, rate: float, into_input: bool) -> None:
        super().__init__()
        self._rate, self._into_input = rate, into_input
        self.register_buffer("noise", torch.zeros(2, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = torch.relu(x)
        noise = torch.rand(2, 8) if self._rate else torch.zeros(2, 8)
        if self._into_input:
            x.add_(noise)
        else:
            self.noise.copy_(noise)
        return made


@pytest.mark.parametrize("into_input", [True, False])
def test_noise_in_an_input_or_in_the_state_alone_is_drawn(into_input):
    noisy, quiet = (observe(Noisy(rate, into_input), CALLS) for rate in (1.0, 0.0))
    assert all(noisy.drew)
    found = noisy.difference(quiet)
    assert found is not None
    assert found.kind == "random numbers are drawn elsewhere"


def test_distributions_that_change_places_in_an_inlined_module_are_seen(prepared):
    case = prepared("two_distributions")
    module = BuiltinInliner("positional").transform(case.split)
    module.recompile()
    assert case.reference.difference(observe(module, case.captured.calls)) is None
    one, other = (node for node in module.graph.nodes if "normal" in str(node.target))
    one.args, other.args = other.args, one.args
    module.recompile()
    found = case.reference.difference(observe(module, case.captured.calls))
    assert found is not None
    assert found.kind == "another distribution"
