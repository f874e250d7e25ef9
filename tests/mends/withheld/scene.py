"""A planner that is given a scene as a dictionary with lists in it, and gives paths back."""

import torch
from torch import nn


class Planner(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.agent = nn.Linear(4, width)
        self.lane = nn.Linear(2, width)
        self.cross = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.path = nn.Linear(width, 3 * 2)

    def forward(self, scene):
        agents = torch.cat([self.agent(one) for one in scene["agents"]], dim=1)
        lanes = self.lane(scene["map"]["lanes"]).amax(dim=2)
        mixed, weights = self.cross(agents, lanes, lanes)
        hidden = self.norm(agents + mixed)
        steps = self.path(hidden).unflatten(-1, (3, 2)).cumsum(dim=2)
        return {"paths": steps, "attention": [weights, weights.argmax(dim=-1)]}


def example():
    agents = [torch.randn(1, 2, 4), torch.randn(1, 3, 4)]
    return ({"agents": agents, "map": {"lanes": torch.randn(1, 5, 6, 2)}},)
