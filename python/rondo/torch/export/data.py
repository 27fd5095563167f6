# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the first layer of a model and its loss read from the data set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Mapping

import torch

from .arguments import MAX_VOCAB, check_number
from .layer import Stream
from .refusal import Refusal


@dataclass
class Data:
    """One micro-batch: tokens and the next tokens, or streams of samples."""

    samples: int
    example: list[torch.Tensor]
    targets: list[torch.Tensor]
    #: Of tokens: how many a sample has, and how many there are; otherwise 0.
    tokens: int = 0
    vocab: int = 0
    example_streams: list[Stream] = field(default_factory=list)
    target_streams: list[Stream] = field(default_factory=list)


def resized(data: Data, samples: int) -> Data:
    """The same data with other samples a micro-batch: the first ones, again and again."""
    rows = [k % data.samples for k in range(samples)]

    def streams(given: list[Stream]) -> list[Stream]:
        return [replace(s, example=s.example[rows]) for s in given]

    return replace(
        data,
        samples=samples,
        example=[x[rows] for x in data.example],
        targets=[x[rows] for x in data.targets],
        example_streams=streams(data.example_streams),
        target_streams=streams(data.target_streams),
    )


def read_data(
    layers: Mapping[str, torch.nn.Module],
    example: torch.Tensor | Mapping[str, torch.Tensor],
    targets: torch.Tensor | Mapping[str, torch.Tensor],
    vocab: int | None,
    below: Mapping[str, int],
) -> Data:
    """Refuses data that a program cannot read."""
    if isinstance(example, Mapping) and isinstance(targets, Mapping):
        return _read_streams(example, targets, below)
    if isinstance(example, Mapping) or isinstance(targets, Mapping):
        raise Refusal(
            "example and targets are both tokens, or both tensors by their names: "
            "a program reads one kind of data"
        )
    for name, tensor in (("example", example), ("targets", targets)):
        if not isinstance(tensor, torch.Tensor):
            raise Refusal(f"{name} is a {type(tensor).__name__}, not a torch.Tensor")
    whole = not (example.is_floating_point() or example.dtype == torch.bool)
    if example.dim() != 2 or not whole:
        raise Refusal(
            f"the example is {example.dtype} {tuple(example.shape)}: the first layer "
            "takes tokens, whole numbers [samples, tokens]; for other data give tensors "
            "by their names, such as {'images': images}"
        )
    if targets.shape != example.shape or not example.numel():
        raise Refusal(
            f"the example is {tuple(example.shape)}, targets are {tuple(targets.shape)}: "
            "both have one shape, with a sample and a token at least"
        )
    samples, tokens = example.shape
    vocab = _vocab(layers, vocab)
    if int(example.min()) < 0 or int(example.max()) >= vocab:
        raise Refusal(
            f"the example has tokens from {int(example.min())} to {int(example.max())}, "
            f"and the vocabulary is 0 to {vocab - 1}"
        )
    return Data(samples, [example], [targets], tokens, vocab)


def _vocab(layers: Mapping[str, torch.nn.Module], stated: int | None) -> int:
    if stated is not None:
        check_number("vocab", stated, 1, MAX_VOCAB)
        return stated
    first = next(iter(layers.values()))
    for module in first.modules():
        if isinstance(module, torch.nn.Embedding):
            return module.num_embeddings
    raise Refusal("the first layer has no torch.nn.Embedding: state vocab=")


def _read_streams(
    example: Mapping[str, torch.Tensor],
    targets: Mapping[str, torch.Tensor],
    below: Mapping[str, int],
) -> Data:
    if not example or not targets:
        raise Refusal("example and targets have a tensor each, at least")
    both = set(example) & set(targets)
    if both:
        raise Refusal(
            f"'{min(both)}' is in example and in targets: hand it on through the layers"
        )
    everything = {**example, **targets}
    unknown = set(below) - set(everything)
    if unknown:
        raise Refusal(f"below: there are no data '{min(unknown)}'")
    first = next(iter(example.values()))
    samples = first.shape[0] if isinstance(first, torch.Tensor) and first.dim() else 0
    for name, tensor in everything.items():
        if not isinstance(tensor, torch.Tensor):
            raise Refusal(f"'{name}' is a {type(tensor).__name__}, not a torch.Tensor")
        if not tensor.numel():
            raise Refusal(f"'{name}' is {tuple(tensor.shape)}: it has no elements")
        if tensor.dim() == 0 or tensor.shape[0] != samples:
            raise Refusal(
                f"'{name}' is {tensor.dtype} {tuple(tensor.shape)}: all data have the "
                f"samples of a micro-batch as their first size, here {samples}"
            )
        if tensor.dtype == torch.bool or tensor.is_floating_point():
            continue
        if name not in below:
            raise Refusal(
                f"'{name}' has whole numbers: state which, from 0 to N - 1, by "
                f"below={{'{name}': N}}"
            )
        if int(tensor.min()) < 0 or int(tensor.max()) >= below[name]:
            raise Refusal(
                f"'{name}' has numbers from {int(tensor.min())} to {int(tensor.max())}, "
                f"and below states 0 to {below[name] - 1}"
            )

    def streams(tensors: Mapping[str, torch.Tensor]) -> list[Stream]:
        return [
            Stream(
                name,
                x.float() if x.is_floating_point() else x,
                2 if x.dtype == torch.bool else below.get(name),
            )
            for name, x in tensors.items()
        ]

    given, wanted = streams(example), streams(targets)
    return Data(
        samples,
        [s.example for s in given],
        [s.example for s in wanted],
        example_streams=given,
        target_streams=wanted,
    )
