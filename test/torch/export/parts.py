# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of parts of an export that need no compiled graph."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file

import architectures
import models
from programs import Checks
from rondo.torch.export import Model
from rondo.torch.export.check import TOLERANCE, differences
from rondo.torch.export.cut import bytes_of, choose_kept
from rondo.torch.export.joint import Layer, trace


def check_parts(folder: Path, checks: Checks) -> None:
    check_differences(checks)
    check_recompute(checks)
    check_load_optimizer(folder, checks)


def check_differences(checks: Checks) -> None:
    """A wrong gradient is found next to one that is far larger; rounding errors of one
    that is 0 in truth are none."""
    large, small = torch.full((4,), 1e3), torch.full((4,), 5e-3)
    zero = torch.zeros(4)
    wrong = differences([large, 2 * small], [large, small])
    checks.check("differences: of a small tensor", wrong.of_all < TOLERANCE < wrong.of_own)
    rounded = differences([large, zero + 5e-5], [large, zero])
    checks.check("differences: of zeros", 0 < rounded.of_own <= TOLERANCE)
    lost = differences([large, small * math.nan], [large, small])
    checks.check("differences: of a NaN", not lost.of_own <= TOLERANCE)


def check_recompute(checks: Checks) -> None:
    """What F keeps falls with the time that its recomputation may take."""
    torch.manual_seed(0)
    of_layers = {
        "gpt": (models.Block(48, 4), 48),
        "dropout": (architectures.encoder(0.2), architectures.WIDTH),
    }
    for name, (module, width) in of_layers.items():
        x = torch.randn(models.SAMPLES, models.TOKENS, width)
        joint = trace(Layer(name, module, [[x]], [x]))
        sizes = []
        for recompute in (0.0, 100.0, 500.0, math.inf):
            kept = choose_kept(joint, recompute)
            both = kept.forward_to_input_grad + kept.forward_to_weight_grad
            sizes.append(int(sum(map(bytes_of, both))))
        falls = sizes == sorted(sizes, reverse=True) and len(set(sizes)) >= 3
        checks.check(f"recompute: {name}", falls, " > ".join(map(str, sizes)))


def check_load_optimizer(folder: Path, checks: Checks) -> None:
    """A state that does not fit is refused, and nothing changes."""
    layers = {"a": torch.nn.Linear(3, 2)}
    tensors = {f"a.{n}": p.detach() + 1 for n, p in layers["a"].named_parameters()}
    moments = {f"optimizer.{k}.{n}": t.clone() for n, t in tensors.items() for k in "mv"}
    whole, lacking = folder / "whole.safetensors", folder / "lacking.safetensors"
    described = {"optimizer": "adamw", "step": "7"}
    save_file(tensors | moments, whole, described)
    del moments["optimizer.v.a.bias"]
    save_file(tensors | moments, lacking, described)
    model = Model(folder, {})
    parameters = list(layers["a"].parameters())
    adam = torch.optim.AdamW(parameters)
    calls = {
        "is SGD": (torch.optim.SGD(parameters), layers, whole),
        "amsgrad": (torch.optim.AdamW(parameters, amsgrad=True), layers, whole),
        "no tensor 'optimizer.v.a.bias'": (adam, layers, lacking),
        "does not have parameter 'a.bias'": (torch.optim.AdamW(parameters[:1]), layers, whole),
        "no tensor 'optimizer.m.b.weight'": (adam, {"b": layers["a"]}, whole),
        "tensor 'optimizer.m.a.weight' is [2, 3]": (adam, {"a": torch.nn.Linear(4, 2)}, whole),
        "there is neither": (adam, layers, folder / "none.safetensors"),
    }
    for mentioned, (optimizer, given, file) in calls.items():
        for module in given.values():
            if module is not layers["a"]:
                optimizer = torch.optim.AdamW(module.parameters())
        try:
            model.load_optimizer(optimizer, given, file)
        except (ValueError, FileNotFoundError) as error:
            holds = mentioned in str(error) and not optimizer.state
            checks.check(f"load_optimizer: {mentioned}", holds, str(error))
        else:
            checks.check(f"load_optimizer: {mentioned}", False, "it was loaded")
    checks.check("load_optimizer: steps", model.load_optimizer(adam, layers, whole) == 7)
    check_files_of_processes(folder, tensors, described, checks)


def check_files_of_processes(
    folder: Path, tensors: dict[str, torch.Tensor], described: dict[str, str], checks: Checks
) -> None:
    """Several processes write a file each, and an index."""
    state = {f"optimizer.{k}.{n}": t * 2 for n, t in tensors.items() for k in "mv"}
    weight_map = {}
    for part, saved in (("weights", tensors), ("state", state)):
        save_file(saved, folder / f"{part}-of-2.safetensors", described)
        weight_map |= dict.fromkeys(saved, f"{part}-of-2.safetensors")
    index = {"metadata": described, "weight_map": weight_map}
    (folder / "several.safetensors.index.json").write_text(json.dumps(index))
    model, layers = Model(folder, {}), {"a": torch.nn.Linear(3, 2)}
    adam = torch.optim.AdamW(layers["a"].parameters())
    for name in ("several.safetensors", "several.safetensors.index.json"):
        model.load(layers, folder / name)
        steps = model.load_optimizer(adam, layers, folder / name)
        bias = layers["a"].bias
        holds = steps == 7 and torch.equal(bias, tensors["a.bias"])
        holds = holds and torch.equal(adam.state[bias]["exp_avg_sq"], 2 * bias)
        checks.check(f"load: {name}", holds)
