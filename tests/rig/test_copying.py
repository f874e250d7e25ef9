import io

import pytest
import torch

from harness.rig.copying import copy_of


def exported():
    """`Sequential` calls its argument ``input``, which is a builtin's name."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    return torch.export.export(model, (torch.randn(2, 8),))


def saved_and_loaded(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


@pytest.mark.parametrize("times", [1, 2])
def test_a_copy_of_a_program_whose_input_is_named_as_a_builtin_is_saved_as_the_program_is(times):
    program = copied = exported()
    for _ in range(times):
        copied = copy_of(copied)
    x = torch.randn(2, 8)
    assert torch.equal(copied.module()(x), program.module()(x))
    assert torch.equal(saved_and_loaded(copied).module()(x), program.module()(x))


def test_a_copy_shares_no_weight_with_the_program():
    program = exported()
    copied = copy_of(program)
    with torch.no_grad():
        copied.state_dict["0.weight"].zero_()
    assert program.state_dict["0.weight"].any()
