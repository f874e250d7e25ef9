"""An encoder of texts and pictures: several outputs, one of them the mask that came in."""

import torch
import torch.nn.functional as F
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.words = nn.Embedding(40, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True, norm_first=True)
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.mix = nn.Linear(width, width)
        self.log_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, tokens, mask, pixels):
        words = self.block(self.words(tokens)) * mask.unsqueeze(-1)
        text = words.sum(1) / mask.sum(1, keepdim=True)
        picture = self.mix(self.patches(pixels).flatten(2).mean(-1))
        text, picture = F.normalize(text, dim=-1), F.normalize(picture, dim=-1)
        return text, picture, self.log_scale.exp() * text @ picture.T, mask


def example():
    mask = torch.tensor([[1.0, 1, 1, 0, 0], [1.0, 1, 1, 1, 1]])
    return torch.randint(0, 40, (2, 5)), mask, torch.rand(2, 3, 16, 16)
