"""nanoGPT's calling convention: logits and a loss, which is None unless targets are given."""

import torch
import torch.nn.functional as F
from torch import nn


class GPT(nn.Module):
    def __init__(self, vocab=65, dim=32, heads=4, block=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(block, dim)
        self.ln_1, self.ln_2, self.ln_f = (nn.LayerNorm(dim) for _ in range(3))
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        _, t = idx.shape
        x = self.wte(idx) + self.wpe(torch.arange(t, device=idx.device))
        mask = torch.ones(t, t, dtype=torch.bool, device=idx.device).triu(1)
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        x = x + self.mlp(self.ln_2(x))
        x = self.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        else:
            logits = self.lm_head(x[:, [-1], :])
            loss = None
        return logits, loss


def gpt():
    return GPT().eval()


def example():
    return (torch.randint(0, 65, (2, 16)),)
