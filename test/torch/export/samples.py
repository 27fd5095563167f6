# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The samples that a program with --seed 1 and its counterpart in PyTorch train with."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

import architectures
import models

sys.path.append(str(Path(__file__).resolve().parents[2] / "e2e" / "Inputs"))
from splitmix import MASK, mix  # noqa: E402


def picked(count: int, iteration: int, microbatch: int) -> list[int]:
    """Which of so many places a program takes for the samples of a micro-batch."""
    first = microbatch * models.SAMPLES
    of_iteration = mix((mix(1) + iteration) & MASK)
    return [
        (mix((of_iteration + sample) & MASK) * count) >> 64
        for sample in range(first, first + models.SAMPLES)
    ]


def trained(count: int) -> int:
    """So many of all are trained with; the last ones are for evaluations."""
    return count - int(count * 0.05)


class Text:
    """Tokens, and the next tokens as targets."""

    def __init__(self, path: Path):
        self.path = path
        self.text = path.read_bytes()
        self.example = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
        self.targets = torch.roll(self.example, -1, 1)
        self.loss = models.loss

    def batch(self, iteration: int, microbatch: int) -> tuple[torch.Tensor, torch.Tensor]:
        begins = picked(trained(len(self.text)) - models.TOKENS, iteration, microbatch)
        rows = torch.tensor([list(self.text[b : b + models.TOKENS + 1]) for b in begins])
        return rows[:, :-1], rows[:, 1:]


class Images:
    """Images, and the class of each: the brightest quarter."""

    def __init__(self, path: Path):
        count, samples = 200, models.SAMPLES
        generator = torch.Generator().manual_seed(3)
        images = torch.rand(count, *architectures.PICTURE, generator=generator)
        quarters = torch.nn.functional.adaptive_avg_pool2d(images.mean(1, keepdim=True), 2)
        labels = quarters.flatten(1).argmax(1)
        self.images, self.labels = images, labels
        self.path = path
        save_file({"images": images, "labels": labels}, path)
        self.example = {"images": images[:samples]}
        self.targets = {"labels": labels[:samples]}
        self.loss = torch.nn.functional.cross_entropy

    def batch(self, iteration: int, microbatch: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = picked(trained(len(self.images)), iteration, microbatch)
        return self.images[rows], self.labels[rows]
