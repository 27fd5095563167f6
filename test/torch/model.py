# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small transformer, cut into stages."""

import torch
from torch import nn

VOCABULARY, LENGTH = 101, 64


class Embedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(LENGTH, width)

    def forward(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.logits = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, x):
        return self.logits(self.norm(x))


def stages(count, layers=6, width=96, heads=4):
    """The modules of all stages, the same in every process."""
    torch.manual_seed(1)
    blocks = [Block(width, heads) for _ in range(layers)]
    parts = [Embedding(width), *blocks, Head(width)]
    cuts = [round(i * len(parts) / count) for i in range(count + 1)]
    return [nn.Sequential(*parts[a:b]) for a, b in zip(cuts, cuts[1:])]


def batch(samples):
    torch.manual_seed(2)
    ids = torch.randint(VOCABULARY, (samples, LENGTH + 1))
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def loss_fn(output, target):
    return nn.functional.cross_entropy(output.flatten(0, 1), target.flatten())
