"""A selective state-space block: its state comes in by keyword and goes out with the answer."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, STATE = 12, 4


class SelectiveScan(nn.Module):
    def __init__(self):
        super().__init__()
        self.into = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.select = nn.Linear(WIDTH, 2 * STATE + 1, bias=False)
        self.step = nn.Linear(1, WIDTH)
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, STATE + 1).repeat(WIDTH, 1)))
        self.skip = nn.Parameter(torch.ones(WIDTH))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, *, state):
        u, gate = self.into(x).chunk(2, dim=-1)
        u = F.silu(u)
        b, c, delta = self.select(u).split([STATE, STATE, 1], dim=-1)
        delta = F.softplus(self.step(delta))
        decay = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.log_a))
        feed = (delta * u).unsqueeze(-1) * b.unsqueeze(2)
        answers = []
        for t in range(x.shape[1]):
            state = state * decay[:, t] + feed[:, t]
            answers.append((state * c[:, t].unsqueeze(1)).sum(dim=-1))
        y = torch.stack(answers, dim=1) + u * self.skip
        return {"y": self.out(y * F.silu(gate)), "state": state}


def example():
    return (torch.randn(2, 5, WIDTH),), {"state": torch.zeros(2, WIDTH, STATE)}
