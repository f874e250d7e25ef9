"""A tagger that ends in a conditional random field, decoded by Viterbi inside the model."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=60, width=12, tags=5):
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=0)
        self.rnn = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.emit = nn.Linear(2 * width, tags)
        self.move = nn.Parameter(torch.randn(tags, tags))

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens))
        steps = self.emit(hidden).unbind(dim=1)
        score, back = steps[0], []
        for step in steps[1:]:
            best, arg = (score.unsqueeze(2) + self.move).max(dim=1)
            score = best + step
            back.append(arg)
        best, tag = score.max(dim=1)
        path = [tag]
        for arg in reversed(back):
            tag = arg.gather(1, tag.unsqueeze(1)).squeeze(1)
            path.append(tag)
        return best, torch.stack(path[::-1], dim=1)


def example():
    return (torch.randint(1, 60, (2, 6)),)
