# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds parameters that several layers have, and how they reach these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence

import torch

from .body import TIED
from .data import Data
from .layer import Layer, Shared
from .refusal import Refusal


@dataclass
class Sharing:
    """What layers share: for each its part; and the matrix of the first and the last."""

    parts: list[Shared]
    tied: dict[int, str] = field(default_factory=dict)


def sharing(
    layers: Mapping[str, torch.nn.Module], sources: Sequence[Sequence[int]], data: Data
) -> Sharing:
    """Trained parameters that several layers have. Layers have copies of others."""
    result = Sharing([Shared() for _ in layers])
    names = list(layers)
    places: dict[int, list[tuple[int, str]]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for index, module in enumerate(layers.values()):
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                places.setdefault(id(parameter), []).append((index, name))
                shapes[id(parameter)] = tuple(parameter.shape)
    for key, found in places.items():
        if len(found) < 2:
            continue
        if _is_matrix_of_tokens([i for i, _ in found], shapes[key], data, len(names)):
            _refuse_names(names, layers, found)
            result.tied |= dict(found)
        else:
            _hand_on(names, sources, found, result.parts)
    return result


def _is_matrix_of_tokens(
    indices: list[int], shape: tuple[int, ...], data: Data, layers: int
) -> bool:
    """Whether a program has it once for the first and the last layer."""
    return (
        indices == [0, layers - 1]
        and data.tokens > 0
        and len(shape) == 2
        and shape[0] == data.vocab
    )


def _refuse_names(
    names: list[str],
    layers: Mapping[str, torch.nn.Module],
    found: list[tuple[int, str]],
) -> None:
    for index, tied in found:
        others = [n for n, _ in layers[names[index]].named_parameters()]
        if tied != TIED and TIED in others:
            raise Refusal(
                f"layer '{names[index]}' shares its parameter '{tied}', which a program "
                f"calls '{TIED}', and has another one of that name: rename it"
            )
    # `wte.weight` of a layer `wte`, too.
    same = set(found)
    for index, name in enumerate(names):
        for parameter, _ in layers[name].named_parameters():
            if f"{name}.{parameter}" == TIED and (index, parameter) not in same:
                raise Refusal(
                    f"layers share a matrix that a program calls '{TIED}', and layer '{name}' "
                    "has another tensor of that name: rename the layer"
                )


def _hand_on(
    names: list[str],
    sources: Sequence[Sequence[int]],
    found: list[tuple[int, str]],
    parts: list[Shared],
) -> None:
    """Lets a parameter go from the first layer that has it to the others."""
    owner, first_name = found[0]
    key = f"{names[owner]}.{first_name}"
    parts[owner].owned[first_name] = key
    followers = _followers(owner, sources)
    for user, name in found[1:]:
        parts[user].used[name] = key
        layer = user
        while layer != owner:
            before = [s for s in sources[layer] if s in followers]
            if not before:
                raise Refusal(
                    f"'{key}' and '{names[user]}.{name}' are one parameter, and no "
                    f"layers lead from '{names[owner]}' to '{names[user]}': give each "
                    "its own"
                )
            layer = before[0]
            if key not in parts[layer].handed_on:
                parts[layer].handed_on.append(key)


def _followers(owner: int, sources: Sequence[Sequence[int]]) -> set[int]:
    """The layer, and all that depend on what it returns."""
    found = {owner}
    for layer in range(owner + 1, len(sources)):
        if not found.isdisjoint(sources[layer]):
            found.add(layer)
    return found


def receive(layer: Layer, sources: Sequence[Layer]) -> None:
    """Marks the inputs of a layer that are parameters of others."""
    index = 0
    for source, edge in zip(sources, layer.edges):
        handed_on = source.shared.handed_on
        index += len(edge) - len(handed_on)
        for key in handed_on:
            layer.shared.inputs[index] = key
            index += 1
