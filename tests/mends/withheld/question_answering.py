"""A small BERT for question answering, called with keywords, batch and length both free."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH = 16


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.kinds = nn.Embedding(70, WIDTH), nn.Embedding(2, WIDTH)
        self.places = nn.Embedding(64, WIDTH)
        self.register_buffer("position_ids", torch.arange(64).unsqueeze(0), persistent=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.span = nn.Linear(WIDTH, 2)

    def forward(self, input_ids, token_type_ids, attention_mask):
        length = input_ids.shape[1]
        x = self.words(input_ids) + self.kinds(token_type_ids)
        x = self.norm(x + self.places(self.position_ids[:, :length]))
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / WIDTH**0.5
        scores = scores.masked_fill(attention_mask[:, None, :] == 0, -1e4)
        x = x + self.out(torch.softmax(scores, dim=-1) @ v)
        x = x + self.down(F.gelu(self.up(x)))
        start, end = self.span(x).split(1, dim=-1)
        return start.squeeze(-1), end.squeeze(-1)


def example():
    return {
        "input_ids": torch.randint(0, 70, (2, 8)),
        "token_type_ids": torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]] * 2),
        "attention_mask": torch.tensor([[1] * 8, [1] * 6 + [0] * 2]),
    }


def dynamic_shapes():
    batch, length = (
        torch.export.Dim("batch", min=2, max=8),
        torch.export.Dim("length", min=4, max=32),
    )
    one = {0: batch, 1: length}
    return {"input_ids": one, "token_type_ids": one, "attention_mask": one}
