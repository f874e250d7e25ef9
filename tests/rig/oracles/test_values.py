import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corpus.case import Inputs
from harness.rig.oracles.observing import content_digest, observe
from harness.rig.oracles.values import (
    ValueDifference,
    differences,
    first_difference,
    is_only_as_wrong_as,
)

ONES = torch.ones(2, 3)


def kind_of(difference: ValueDifference | None) -> str:
    return difference.kind if difference else "none"


def changed(value: float, like: torch.Tensor = ONES) -> torch.Tensor:
    tensor = like.clone()
    tensor[1, 2] = value
    return tensor


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        (changed(1 + 2**-23), "numbers differ"),
        (changed(math.nan), "numbers differ"),
        (ONES.double(), "dtype differs"),
        (torch.ones(3, 2), "shape differs"),
        ([ONES, ONES], "structure differs"),
        (1.0, "type differs"),
    ],
)
def test_every_way_to_differ_is_seen(got, kind):
    assert kind_of(first_difference(ONES, got)) == kind


def test_the_first_wrong_value_is_named_with_its_place():
    found = first_difference((ONES, ONES), (ONES, changed(5.0)))
    assert found is not None
    assert found.detail == (
        "output 1: first wrong value at [1, 2] is 5.0, should be 1.0 (1 of 6 elements differ)"
    )


def test_signed_zeros_are_told_apart():
    zeros = torch.zeros(2, 3)
    assert first_difference(zeros, changed(-0.0, zeros)) is not None
    assert first_difference(zeros, changed(-0.0, zeros), tolerance=0.0) is None


def test_nan_equals_nan_of_any_payload():
    payload = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert first_difference(torch.tensor([math.nan]), payload) is None


def test_strides_are_no_part_of_a_value():
    assert first_difference(ONES, torch.ones(3, 2).t()) is None


def test_a_comparison_of_nothing_is_a_difference():
    for empty in ((), [], {}, (1, None)):
        assert kind_of(first_difference(empty, empty)) == "nothing compared"


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_a_result_equals_itself(numbers):
    assert first_difference(torch.tensor(numbers), torch.tensor(numbers)) is None


@given(st.floats(-1e3, 1e3, width=32), st.floats(0, 1e-2))
def test_the_eager_tolerance_is_relative_and_absolute(number, tolerance):
    near = torch.tensor([number * (1 + tolerance / 2)], dtype=torch.float64)
    exact = torch.tensor([number], dtype=torch.float64)
    assert first_difference(exact, near, tolerance) is None


def test_complex_numbers_are_compared_within_the_tolerance_too():
    exact = torch.tensor([1 + 2j])
    assert first_difference(exact, exact * (1 + 1e-7), 1e-5) is None
    assert kind_of(first_difference(exact, exact * (1 + 1e-4), 1e-5)) == "numbers differ"
    assert kind_of(first_difference(exact, exact * (1 + 1e-6))) == "numbers differ"


class Counting(torch.nn.Module):
    """Writes to its input and to its buffer, and returns the count."""

    count: torch.Tensor

    def __init__(self, step: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.step = step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(self.step)
        return x.add_(1) + self.count


def calls() -> list[Inputs]:
    return [Inputs((torch.full((2,), float(number)),)) for number in (1, 2, 3)]


def test_every_input_is_called_and_the_first_one_again():
    observed = observe(Counting(), calls())
    assert [float(result[0]) for result in observed.returned] == [3.0, 5.0, 7.0, 6.0]


def test_a_program_that_writes_to_its_inputs_does_not_change_the_next_one_s():
    given = calls()
    observe(Counting(), given)
    assert [float(call.args[0][0]) for call in given] == [1.0, 2.0, 3.0]


def test_an_input_that_is_left_otherwise_is_a_difference():
    class Pure(Counting):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.clone())

    assert (
        kind_of(observe(Counting(), calls()).difference(observe(Pure(), calls())))
        == "an input is left otherwise"
    )


def test_an_input_that_a_program_overwrites_and_the_model_leaves_is_told_apart():
    class Pure(Counting):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.clone())

    assert (
        kind_of(observe(Pure(), calls()).difference(observe(Counting(), calls())))
        == "an input is overwritten that the model leaves as it is"
    )


def test_state_that_is_left_otherwise_is_a_difference():
    class Forgetful(Counting):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result = super().forward(x)
            self.total = self.count.clone()
            return result

        def named_buffers(self, *args: bool, **kwargs: bool):  # type: ignore[no-untyped-def]
            return iter(())

    assert (
        kind_of(observe(Counting(), calls()).difference(observe(Forgetful(), calls())))
        == "state is left otherwise"
    )


def test_complex_nan_and_small_floats_are_compared():
    nan = torch.tensor([complex(math.nan, 1.0)])
    assert first_difference(nan, nan.clone()) is None
    assert first_difference(nan, torch.tensor([complex(math.nan, 2.0)])) is not None
    small = torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn)
    assert first_difference(small, small.clone()) is None
    assert first_difference(small, torch.tensor([1.0, 4.0]).to(torch.float8_e4m3fn)) is not None
    assert first_difference((ONES, math.nan), (ONES, math.nan)) is None


def test_a_view_is_compared_by_the_numbers_it_shows_and_not_by_its_memory():
    numbers = torch.tensor([complex(1.0, 2.0)])
    mirrored = torch.tensor([complex(1.0, -2.0)])
    assert first_difference(mirrored, numbers.conj()) is None
    assert first_difference(numbers, numbers.conj()) is not None
    assert first_difference(mirrored.imag, numbers.conj().imag) is None


class Silent(Counting):
    """Returns nothing, and is known by what it leaves."""

    def forward(self, x: torch.Tensor) -> tuple[()]:  # type: ignore[override]
        self.count.add_(self.step * x.sum())
        return ()


def test_a_model_without_outputs_is_known_by_the_state_that_it_leaves():
    right = observe(Silent(), calls())
    assert right.difference(observe(Silent(), calls())) is None
    for step in (2.0, 0.0):  # another effect, and none
        found = right.difference(observe(Silent(step=step), calls()))
        assert kind_of(found) == "state is left otherwise"


def test_a_model_with_neither_outputs_nor_effects_proves_nothing():
    idle = observe(Silent(step=0.0), calls())
    assert kind_of(idle.difference(observe(Silent(step=0.0), calls()))) == "nothing compared"


def test_a_tensor_on_another_device_is_another_value():
    found = first_difference(torch.empty(2), torch.empty(2, device="meta"))
    assert found == ValueDifference("device differs", "output 0: meta, should be cpu")


def test_a_lost_or_wrong_effect_is_a_difference_within_a_tolerance_and_its_last_digits_are_none():
    right = observe(Silent(), calls())
    for step in (0.0, 1.5):
        found = right.difference(observe(Silent(step=step), calls()), 1e-3)
        assert kind_of(found) == "state is left otherwise"
    assert right.difference(observe(Silent(step=1.0 + 1e-6), calls()), 1e-3) is None


def test_a_tensor_of_one_element_is_told_by_its_bits_whatever_its_stride():
    apart = torch.tensor([2.0]).as_strided((1,), (0,))
    assert content_digest(apart) == content_digest(torch.tensor([2.0]))
    assert content_digest(apart) != content_digest(torch.tensor([3.0]))


class Doubles(torch.nn.Module):
    """Returns its input and its state; counts in its state, and doubles its caller's tensor."""

    def __init__(self, *, counts=True, doubles=True, adds=0.0):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.counts, self.doubles, self.adds = counts, doubles, adds

    def forward(self, x):
        returned = x + self.count + self.adds
        if self.counts:
            self.count.add_(1)
        if self.doubles:
            x.mul_(2)
        return returned


def observed(**wrong):
    return observe(Doubles(**wrong), [Inputs((torch.ones(2) * call,)) for call in (1, 2)])


@pytest.mark.parametrize(
    ("wrong", "is_as_wrong"),
    [
        ({"counts": False, "doubles": False}, True),
        ({"doubles": False}, True),
        ({"counts": False}, True),
        ({}, False),
        ({"doubles": False, "adds": 1.0}, False),
        ({"counts": False, "doubles": False, "adds": 1.0}, False),
    ],
)
def test_a_program_that_mends_a_part_of_what_its_module_does_wrong_is_not_blamed_for_the_rest(
    wrong, is_as_wrong
):
    compiled = observed(counts=False, doubles=False)
    assert is_only_as_wrong_as(compiled, observed(**wrong), observed(), 0.0) == is_as_wrong


def test_nothing_is_as_wrong_as_a_module_that_is_right():
    assert not is_only_as_wrong_as(observed(), observed(adds=1.0), observed(), 0.0)


class Running(torch.nn.Module):
    """Adds up what it is given, and returns the sum and as many more outputs as asked."""

    def __init__(self, *, counts=True, further=0, alone=False):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2))
        self.counts, self.further, self.alone = counts, further, alone

    def forward(self, x):
        total = self.sum + x
        if self.counts:
            self.sum.copy_(total)
        further = tuple(total * 3 for _ in range(self.further))
        return total if self.alone else (total, total * 2, *further)


@pytest.mark.parametrize(
    ("wrong", "kinds"),
    [
        ({}, []),
        ({"further": 1}, ["structure differs"]),
        ({"further": 1, "counts": False}, ["structure differs", "numbers differ"]),
        ({"alone": True}, ["structure differs", "outputs are missing"]),
    ],
)
def test_what_is_returned_behind_all_that_is_expected_hides_no_wrong_number(wrong, kinds):
    calls = [Inputs((torch.ones(2) * call,)) for call in (1, 2)]
    found = differences(observe(Running(), calls), observe(Running(**wrong), calls))
    assert [each.kind for each in found] == kinds


def test_state_that_is_left_otherwise_is_told_beside_another_packing():
    class Noting(Running):
        def forward(self, x):
            super().forward(x)
            return (x, x) if self.further else x

    calls = [Inputs((torch.ones(2),))]
    found = differences(observe(Noting(), calls), observe(Noting(further=1, counts=False), calls))
    assert [each.kind for each in found] == ["structure differs", "state is left otherwise"]


class Typed(torch.nn.Module):
    """Returns a number, or a tensor of it, and twice its input."""

    def __init__(self, number, factor=2.0):
        super().__init__()
        self.number, self.factor = number, factor

    def forward(self, x):
        return self.number, x * self.factor


@pytest.mark.parametrize(
    ("wrong", "kinds"),
    [
        (Typed(torch.tensor(3)), ["type differs"]),
        (Typed(torch.tensor([3.0])), ["type differs"]),
        (Typed(torch.tensor(4)), ["type differs", "numbers differ"]),
        (Typed(None), ["type differs", "numbers differ"]),
        (Typed(torch.tensor(3), factor=3.0), ["type differs", "numbers differ"]),
    ],
)
def test_a_number_in_place_of_a_tensor_hides_no_wrong_number(wrong, kinds):
    calls = [Inputs((torch.ones(2),))]
    found = differences(observe(Typed(3), calls), observe(wrong, calls))
    assert [each.kind for each in found] == kinds
