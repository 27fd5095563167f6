# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses arguments of an export before anything is compiled."""

from __future__ import annotations

import operator
import re
from typing import Any, Mapping, Sequence

import torch

from .refusal import Refusal

#: What a plan may have; see the rules of plans.
MAX_RANKS = 65536
MAX_MICROBATCHES = 16777216
#: Tokens are int32.
MAX_VOCAB = 2**31 - 1
#: Of a tensor of a program.
MAX_DIMENSIONS = 8


def check_layers(layers: Any) -> None:
    """Layers are modules by their names."""
    if not isinstance(layers, (Mapping, torch.nn.ModuleDict)):
        raise Refusal(
            f"layers is a {type(layers).__name__}: give modules by their names, such as "
            "{'embed': embed, 'head': head}"
        )
    if len(layers) < 2:
        raise Refusal("a model has at least two layers: one reads the data, one targets")
    for name, module in layers.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
            raise Refusal(
                f"{name!r} is no name of a layer: it has letters, digits, '_', '.', '-'"
            )
        if not isinstance(module, torch.nn.Module):
            raise Refusal(
                f"layer '{name}' is a {type(module).__name__}, not a torch.nn.Module"
            )
        for parameter, value in module.named_parameters():
            _check_parameter(f"parameter '{parameter}' of layer '{name}'", value)
    _refuse_equal_names(layers)


def _check_parameter(what: str, value: torch.nn.Parameter) -> None:
    if torch.nn.parameter.is_lazy(value):
        raise Refusal(f"{what} has no sizes yet: run the module once")
    if value.is_meta:
        raise Refusal(f"{what} has no values: it is on device 'meta'")
    if value.dim() > MAX_DIMENSIONS:
        raise Refusal(f"{what} has {value.dim()} dimensions; the maximum is {MAX_DIMENSIONS}")
    if not value.numel():
        raise Refusal(f"{what} is {tuple(value.shape)}: it has no elements; remove it")


def _refuse_equal_names(layers: Mapping[str, torch.nn.Module]) -> None:
    """A checkpoint has all tensors by LAYER.TENSOR."""
    owners: dict[str, str] = {}
    for name, module in layers.items():
        for tensor, _ in module.named_parameters():
            owner = owners.setdefault(f"{name}.{tensor}", name)
            if owner != name:
                raise Refusal(
                    f"layers '{owner}' and '{name}' both have a tensor named "
                    f"'{name}.{tensor}', and a checkpoint finds tensors by name: rename "
                    "a layer"
                )


def check_plan(
    layers: int,
    ranks: int,
    placement: Sequence[int] | None,
    microbatches: int,
    schedules: Sequence[str],
) -> None:
    """What a plan and its schedules need."""
    check_number("microbatches", microbatches, 1, MAX_MICROBATCHES)
    if placement is None:
        check_number("ranks", ranks, 1, MAX_RANKS)
        if ranks > layers:
            raise Refusal(f"{layers} layers cannot be divided among {ranks} ranks")
    elif len(placement) != layers:
        raise Refusal(f"{len(placement)} layers are placed, but there are {layers}")
    else:
        for rank in placement:
            check_number("a rank of placement", rank, 0, MAX_RANKS - 1)
    if isinstance(schedules, str):
        raise Refusal(f"schedules is a string: write ('{schedules}',)")
    for schedule in schedules:
        is_text = isinstance(schedule, str)
        if not is_text or not re.fullmatch(r"[\w.\-]+(:[^\"\n]*)?", schedule):
            raise Refusal(
                f"{schedule!r} is no schedule: write a family or search, with arguments "
                "as in 'kfkb:k=2'"
            )
    twice = [s for i, s in enumerate(schedules) if s in schedules[:i]]
    if twice:
        raise Refusal(f"schedules has '{twice[0]}' twice")


def check_number(name: str, value: Any, least: int, most: int) -> None:
    """Refuses all but whole numbers from `least` to `most`."""
    try:
        # Also numbers of numpy.
        is_fit = least <= operator.index(value) <= most
    except TypeError:
        is_fit = False
    if not is_fit:
        raise Refusal(f"{name} is {value!r}; it must be a whole number from {least} to {most}")
