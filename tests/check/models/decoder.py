"""One decoding step of a small language model with a static KV cache, as in gpt-fast."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, DIM, HEADS, LAYERS, MAX_LEN = 96, 32, 4, 2, 16


class KVCache(nn.Module):
    def __init__(self, batch, heads, length, head_dim):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(batch, heads, length, head_dim))
        self.register_buffer("v_cache", torch.zeros(batch, heads, length, head_dim))

    def update(self, input_pos, k, v):
        self.k_cache.index_copy_(2, input_pos, k)
        self.v_cache.index_copy_(2, input_pos, v)
        return self.k_cache, self.v_cache


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wqkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.wo = nn.Linear(DIM, DIM, bias=False)
        self.kv_cache = KVCache(1, HEADS, MAX_LEN, DIM // HEADS)

    def forward(self, x, input_pos, mask):
        b, t, _ = x.shape
        q, k, v = self.wqkv(x).split(DIM, dim=-1)
        q, k, v = (a.view(b, t, HEADS, DIM // HEADS).transpose(1, 2) for a in (q, k, v))
        k, v = self.kv_cache.update(input_pos, k, v)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(b, t, DIM))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.w1, self.w2 = nn.Linear(DIM, 64, bias=False), nn.Linear(64, DIM, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)

    def forward(self, x, input_pos, mask):
        x = x + self.attention(self.norm1(x), input_pos, mask)
        return x + self.w2(F.silu(self.w1(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(DIM)
        self.output = nn.Linear(DIM, VOCAB, bias=False)
        causal = torch.tril(torch.ones(MAX_LEN, MAX_LEN, dtype=torch.bool))
        self.register_buffer("causal_mask", causal)

    def forward(self, idx, input_pos):
        mask = self.causal_mask[None, None, input_pos]
        x = self.tok_embeddings(idx)
        for layer in self.layers:
            x = layer(x, input_pos, mask)
        return self.output(self.norm(x))


def example():
    return torch.tensor([[17]]), torch.tensor([3])


def next_step():
    return torch.tensor([[5]]), torch.tensor([4])
