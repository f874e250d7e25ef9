import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.rand(8))

    def forward(self, x, y):
        self.state.copy_(y)
        return self.state


def example():
    return (torch.randn(3, 8), torch.randn(8),)
