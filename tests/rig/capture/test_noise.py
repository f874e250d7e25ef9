"""Weights are told apart by noise before a case is captured."""

import torch

from corpus.case import Case, Family, Inputs, Origin, Program
from harness.rig.capture.capture import capture


class Scaled(torch.nn.Module):
    """A weight of one row, which is shown as two: both lie in the same memory."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, 4).expand(2, 4))

    def forward(self, x):
        return torch.relu(x * self.weight)


def test_an_expanded_weight_is_taken_and_each_number_in_memory_gets_its_noise_once():
    program = Program(lambda generator, size: Inputs((torch.ones(2, 4),)), model=Scaled())
    case = Case("mine", Family.ARCHITECTURES, Origin.EXPORTED, "", lambda: program)
    weight = capture(case, "nonstrict").eager.weight
    assert weight.stride() == (0, 1)
    assert weight.min() > 0
    assert len(weight[0].unique()) == weight.shape[1]
