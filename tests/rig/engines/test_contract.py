import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.rig.engines.contract import (
    Binding,
    Contract,
    Dim,
    EngineRefusal,
    Profile,
    binding_of,
    check_inputs,
    output_shapes,
)

N = sympy.Symbol("n", integer=True, positive=True)


def contract(low: int = 1, high: int = 8) -> Contract:
    """Takes (n, 4), gives (2 n, 4)."""
    four = Dim(sympy.Integer(4), 4, 4)
    given_ = Binding(torch.float32, (Dim(N, low, high), four))
    returned = Binding(torch.float32, (Dim(2 * N, 2 * low, 2 * high), four))
    return Contract((given_,), (returned,))


@given(size=st.integers(0, 12))
def test_a_size_is_taken_exactly_if_it_is_in_the_profile(size):
    inputs = [torch.zeros(size, 4)]
    if 1 <= size <= 8:
        check_inputs(contract(), inputs, "e")
    else:
        with pytest.raises(EngineRefusal, match="outside its profile"):
            check_inputs(contract(), inputs, "e")


@given(size=st.integers(1, 8))
def test_output_sizes_follow_from_input_sizes(size):
    assert output_shapes(contract(), [torch.zeros(size, 4)]) == ((2 * size, 4),)


def test_an_output_size_that_nothing_binds_is_an_error():
    unbound = Contract(
        contract().inputs, (Binding(torch.float32, (Dim(sympy.Symbol("m"), 1, 8),)),)
    )
    with pytest.raises(EngineRefusal, match="no input dimension binds"):
        output_shapes(unbound, [torch.zeros(3, 4)])


def test_the_shape_in_which_a_number_comes_is_nobodys_matter():
    with_number = Contract((*contract().inputs, binding_of(4, "n")), contract().outputs)
    for number in (torch.tensor(4), torch.tensor([4])):
        inputs = [torch.zeros(3, 4), number]
        check_inputs(with_number, inputs, "e")
        assert output_shapes(with_number, inputs) == ((6, 4),)


@given(sizes=st.tuples(*[st.integers(1, 9)] * 3), called_with=st.integers(1, 9))
def test_a_profile_takes_the_place_of_what_the_program_states(sizes, called_with):
    low, usual, high = sizes
    profile = Profile((low, 4), (usual, 4), (high, 4))
    narrowed = Contract((contract().inputs[0].within(profile),), contract().outputs)
    assert profile.is_valid == (low <= usual <= high)
    if low <= called_with <= high:
        check_inputs(narrowed, [torch.zeros(called_with, 4)], "e")
    else:
        with pytest.raises(EngineRefusal, match="outside its profile"):
            check_inputs(narrowed, [torch.zeros(called_with, 4)], "e")


def test_the_profile_of_a_number_is_a_range_of_its_values_and_of_a_fraction_none():
    size = Binding(torch.int64, (), number=Dim(N, 1, 8)).within(Profile((2,), (3,), (4,)))
    assert size.number == Dim(N, 2, 4)
    fraction = Binding(torch.float32, (), number=Dim(N, 0.1, 0.9))
    assert fraction.within(Profile((1,), (1,), (1,))) == fraction
