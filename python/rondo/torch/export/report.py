# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what an export found, and the weights of its modules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence

import torch

from .body import TIED
from .check import Agreement
from .compile import level, operations_of
from .layer import Layer
from .model import Model
from .sizes import Sized
from .target import DTYPES


def report(
    chain: Sequence[Layer],
    bodies: Sequence[Sized],
    folder: Path,
    over_libtorch: Sequence[str],
) -> Model:
    """Writes report.json, and returns the model that it describes."""
    target = chain[0].target
    text = {
        "torch": torch.__version__,
        "over_libtorch": list(over_libtorch),
        "device": target.arch if target.is_cuda else "cpu",
        "dtype": DTYPES[target.dtype][0],
        "kernels": "checked" if target.runs_here else "not checked: no GPU has run them",
        "times": "measured" if target.runs_here else "estimated",
        "instructions": None if target.is_cuda else level(),
        "tied": {layer.name: layer.tied for layer in chain if layer.tied},
        "shared": {
            f"{layer.name}.{name}": key
            for layer in chain
            for name, key in layer.shared.used.items()
        },
        "layers": [_reported(layer, sized) for layer, sized in zip(chain, bodies)],
    }
    (folder / "report.json").write_text(json.dumps(text, indent=1) + "\n")
    return Model(folder, text)


def _reported(layer: Layer, sized: Sized) -> dict[str, Any]:
    """Figures of the example's own size, and the largest differences of all sizes."""
    exported = sized.own
    body = exported.body
    agreements = [e.agreement for e in sized.variants.values() if e.agreement]
    assert exported.agreement is not None
    return {
        "layer": layer.name,
        "body": sized.name,
        "samples": sized.samples,
        "undivided": sized.undivided,
        "parameters": len(body.weights),
        "constants": [
            name
            for name, parameter in layer.module.named_parameters()
            if layer.frozen_are_constants and not parameter.requires_grad
        ],
        "frozen": [
            w.name for w in body.weights if not (w.has_gradient or w.is_running)
        ],
        "saved": [
            {"name": p.name, "bytes": p.nbytes, "read_by": p.read_by} for p in body.parts
        ],
        "saved_for_input_grad_bytes": body.saved_for_input_grad_bytes,
        "saved_for_weight_grad_bytes": body.saved_for_weight_grad_bytes,
        "kept_for_weight_grad_bytes": body.kept_for_weight_grad_bytes,
        "eager_saved_bytes": exported.agreement.eager_saved_bytes,
        "workspace_bytes": body.workspace_bytes,
        "backward": _backward_words([a.backward_is_equal for a in agreements]),
        "backward_workspace_bytes": body.backward_workspace_bytes * sized.has_backward,
        "forward_ns": exported.times[0],
        "input_grad_ns": exported.times[1],
        "weight_grad_ns": exported.times[2],
        "output_difference": max(a.output.of_all for a in agreements),
        "gradient_difference": max(a.gradient.of_all for a in agreements),
        "gradient_difference_by_tensor": max(a.gradient.of_own for a in agreements),
        "gradient_rounding": _rounding(agreements),
        "operations": sorted(
            {o for c in exported.compiled if c for o in operations_of(c)}
        ),
    }


def _rounding(agreements: Sequence[Agreement]) -> dict[str, float] | None:
    """How far gradients are from those of fp64, eager ones and the exported layer's."""
    pairs = [a.rounding for a in agreements if a.rounding is not None]
    if not pairs:
        return None
    return {"eager": max(e for e, _ in pairs), "exported": max(x for _, x in pairs)}


def _backward_words(are_equal: Sequence[bool | None]) -> str:
    if False in are_equal:
        return "I and then W: one graph gives other bits"
    return "I and then W" if None in are_equal else "one graph"


def write_weights(
    chain: Sequence[Layer], bodies: Sequence[Sized], folder: Path
) -> None:
    """Writes the parameters and buffers of all modules as init.safetensors, in fp32
    and by their names in the program."""
    from safetensors.torch import save_file

    tensors = {}
    for layer, sized in zip(chain, bodies):
        values = dict(layer.parameters) | dict(layer.buffers)
        for weight in sized.own.body.weights:
            value = values[weight.name].detach().float().contiguous()
            key = TIED if weight.is_tied else f"{layer.name}.{weight.name}"
            tensors[key] = value.reshape(weight.shape).clone()
    save_file(tensors, folder / "init.safetensors")
