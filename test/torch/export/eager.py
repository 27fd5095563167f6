# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program's training as a loop in PyTorch, over the same samples."""

from __future__ import annotations

import torch

import models
from rondo.torch.export import HashedRandom

MICROBATCHES = 4
MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """SplitMix64's output for the state x."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def window(text: bytes, iteration: int, sample: int) -> bytes:
    """The tokens of a sample, as a program picks them with --seed 1."""
    training = len(text) - int(len(text) * 0.05)
    end = training - models.TOKENS
    random = mix((mix((mix(1) + iteration) & MASK) + sample) & MASK)
    first = (random * end) >> 64
    return text[first : first + models.TOKENS + 1]


def eager_output(
    layers: dict[str, torch.nn.Module],
    inputs: dict[str, list[str]],
    tokens: torch.Tensor,
    iteration: int,
    microbatch: int,
) -> torch.Tensor:
    """What the layers return, with the random numbers that a program draws."""
    outputs: dict[str, list[torch.Tensor]] = {}
    before = ""
    for name, module in layers.items():
        given = [x for s in inputs.get(name, [before]) for x in outputs.get(s, [tokens])]
        with HashedRandom(name, seed=1, iteration=iteration, microbatch=microbatch):
            result = module(*given)
        outputs[name] = list(result) if isinstance(result, tuple) else [result]
        before = name
    return outputs[before][0]


def adamw(layers: dict[str, torch.nn.Module]) -> torch.optim.AdamW:
    """The optimizer of a program with --lr 1e-3 --min-lr 1e-3 --warmup 0."""
    parameters = [p for m in layers.values() for p in m.parameters()]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)


def eager_losses(
    layers: dict[str, torch.nn.Module],
    inputs: dict[str, list[str]],
    text: bytes,
    iterations: range,
    optimizer: torch.optim.Optimizer,
) -> list[float]:
    """Losses of the same training in PyTorch; iterations count from 1."""
    losses = []
    for iteration in iterations:
        optimizer.zero_grad()
        total = 0.0
        for microbatch in range(MICROBATCHES):
            samples = [
                list(window(text, iteration, microbatch * models.SAMPLES + s))
                for s in range(models.SAMPLES)
            ]
            tokens = torch.tensor(samples)
            output = eager_output(layers, inputs, tokens[:, :-1], iteration - 1, microbatch)
            loss = models.loss(output, tokens[:, 1:]) / MICROBATCHES
            loss.backward()
            total += float(loss)
        parameters = [p for m in layers.values() for p in m.parameters()]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(total)
    return losses
