# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program's training as a loop in PyTorch, over the same samples."""

from __future__ import annotations

from typing import Iterable

import torch

from samples import Images, Text
from rondo.torch.export import HashedRandom

MICROBATCHES = 4


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


def parameters_of(layers: dict[str, torch.nn.Module]) -> list[torch.nn.Parameter]:
    """All of them, and one that two layers share once."""
    return list(torch.nn.ModuleDict(layers).parameters())


def adamw(layers: dict[str, torch.nn.Module]) -> torch.optim.AdamW:
    """The optimizer of a program with --lr 1e-3 --min-lr 1e-3 --warmup 0."""
    parameters = parameters_of(layers)
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)


def eager_losses(
    layers: dict[str, torch.nn.Module],
    inputs: dict[str, list[str]],
    data: Text | Images,
    iterations: Iterable[int],
    optimizer: torch.optim.Optimizer,
) -> list[float]:
    """Losses of the same training in PyTorch; iterations count from 1."""
    losses = []
    for iteration in iterations:
        optimizer.zero_grad()
        total = 0.0
        for microbatch in range(MICROBATCHES):
            given, targets = data.batch(iteration, microbatch)
            output = eager_output(layers, inputs, given, iteration - 1, microbatch)
            loss = data.loss(output, targets) / MICROBATCHES
            loss.backward()
            total += float(loss)
        torch.nn.utils.clip_grad_norm_(parameters_of(layers), 1.0)
        optimizer.step()
        losses.append(total)
    return losses
