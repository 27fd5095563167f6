# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of parts of an export that need no compiled graph."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, Callable

import torch
from safetensors.torch import save_file

import architectures
import models
from programs import Checks
from rondo.torch.export import HashedRandom, Model, Refusal, export_stages
from rondo.torch.export.check import differences
from rondo.torch.export.cut import RECOMPUTE, bytes_of, choose_kept
from rondo.torch.export.joint import trace
from rondo.torch.export.layer import Layer
from rondo.torch.export.mlir import schedule_names
from rondo.torch.export.parts import MAX_PARTS, Part
from rondo.torch.export.sizes import sizes_of, why_undivided
from rondo.torch.export.tasks import divide
from rondo.torch.export.target import Target


def check_parts(folder: Path, checks: Checks) -> None:
    check_differences(checks)
    check_recompute(checks)
    check_load_optimizer(folder, checks)
    check_sizes(folder, checks)
    check_divided(checks)
    check_names(checks)
    check_schedule_names(checks)
    check_dropout(checks)


def check_dropout(checks: Checks) -> None:
    """The default probability too, which PyTorch does not hand on."""
    for probability in (0.5, 0.25):
        with HashedRandom("layer"):
            x = torch.nn.functional.dropout(torch.ones(10000), probability)
        kept = (x > 0).float().mean().item()
        checks.check(
            f"dropout: {probability}", abs(kept - 1 + probability) < 0.02, f"kept {kept:.3f}"
        )


def check_sizes(folder: Path, checks: Checks) -> None:
    """The numbers of samples that are asked for, and the example's."""
    checks.check("samples: with the example's", sizes_of([4, 1], 2) == [1, 2, 4])
    checks.check("samples: the example's alone", sizes_of(None, 2) == [2])
    for samples, said in (([0], "samples has 0"), (range(1, 18), "the maximum is 16")):
        try:
            sizes_of(list(samples), 2)
        except Refusal as refusal:
            checks.check(f"samples: {said}", said in str(refusal), str(refusal))
        else:
            checks.check(f"samples: {said}", False, "it was accepted")
    layers = models.mixing() | {"m0": Compute(lambda x: x.reshape(2, -1, 32).reshape(2, 32, 32))}
    tokens = torch.randint(0, models.VOCAB, (2, models.TOKENS))
    try:
        export_stages(
            layers, tokens, models.loss, tokens, out=folder / "fixed", samples=[1]
        )
    except Refusal as refusal:
        words = "samples has 1, but the layers do not run on so many"
        checks.check("samples: a fixed shape", words in str(refusal), str(refusal))
    else:
        checks.check("samples: a fixed shape", False, "it was exported")


class Compute(torch.nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[[torch.Tensor], Any]):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def check_divided(checks: Checks) -> None:
    """Which layers' samples replicas may divide."""
    x, targets = torch.randn(4, 3, 8), torch.randint(0, 8, (4, 3))
    mixes = "a sample's output depends on other samples"
    order = "samples are not the first size of a tensor between layers"
    modules: dict[str, tuple[torch.nn.Module, str | None]] = {
        "a linear layer": (torch.nn.Linear(8, 8), None),
        "dropout": (torch.nn.Dropout(0.5), None),
        "a mean of samples": (Compute(lambda x: x - x.mean(0)), mixes),
        "random numbers of a function": (
            Compute(lambda x: torch.nn.functional.dropout(x, 0.5)), mixes),
        "other order": (Compute(lambda x: x.transpose(0, 1).contiguous()), order),
        "two tensors": (Compute(lambda x: (x, 2 * x)), "several tensors go to a layer"),
        "a fixed shape": (
            Compute(lambda x: x.reshape(4, 24).reshape(4, 3, 8)),
            "it does not run on some of the samples",
        ),
    }
    for name, (module, wanted) in modules.items():
        layer = Layer("layer", module, [[x]], [x])
        layer.outputs = layer.run()
        found = why_undivided(layer)
        holds = found == wanted or bool(wanted and found and found.startswith(wanted))
        checks.check(f"divided: {name}", holds and module.training, str(found))
    losses = {
        "a mean loss": (models.loss, None),
        "a sum of losses": (lambda y, t: models.loss(y, t) * len(y), mixes),
    }
    for name, (loss, wanted) in losses.items():
        layer = Layer("layer", torch.nn.Linear(8, 8), [[x]], [x], loss, [targets])
        checks.check(f"divided: {name}", why_undivided(layer) == wanted)


def check_differences(checks: Checks) -> None:
    """A wrong gradient is found next to one that is far larger; rounding errors of one
    that is 0 in truth are none."""
    large, small = torch.full((4,), 1e3), torch.full((4,), 5e-3)
    zero = torch.zeros(4)
    wrong = differences([large, 2 * small], [large, small])
    most = Target().tolerance
    checks.check("differences: of a small tensor", wrong.of_all < most < wrong.of_own)
    rounded = differences([large, zero + 5e-5], [large, zero])
    checks.check("differences: of zeros", 0 < rounded.of_own <= most)
    lost = differences([large, small * math.nan], [large, small])
    checks.check("differences: of a NaN", not lost.of_own <= most)


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


def check_schedule_names(checks: Checks) -> None:
    """Families, names in model.mlir, and arguments with commas of their own."""
    found = schedule_names("1f1b,zb-h1, kfkb:k=2,m=3,schedule_1f1b")
    wanted = "schedule_1f1b,zb_h1,kfkb_k2_m3,schedule_1f1b"
    checks.check("schedules: names between commas", found == wanted, found)


def check_names(checks: Checks) -> None:
    """Names of what F saves: modules and operations, or modules if there are many."""
    block = models.Block(32, 4)
    parts = parts_of(block, torch.randn(2, 8, 32))
    names = [part.name for part in parts]
    wanted = {"qkv.addmm", "attention", "attention.1", "ln_1.mul", "up.addmm"}
    checks.check("names: modules and operations", wanted <= set(names), str(names))
    checks.check("names: one each", len(set(names)) == len(names), str(names))
    readers = {part.name: part.read_by for part in parts}
    checks.check(
        "names: readers",
        readers.get("attention.1") == "input_grad" and readers.get("ln_1.mul") == "both",
        str(readers),
    )
    many = torch.nn.Sequential(
        *(
            torch.nn.Sequential(torch.nn.LayerNorm(16), torch.nn.Linear(16, 16), torch.nn.GELU())
            for _ in range(12)
        )
    )
    grouped = parts_of(many, torch.randn(4, 16))
    names = [part.name for part in grouped]
    checks.check("names: groups of many", 12 <= len(names) <= MAX_PARTS, str(names))
    legal = all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.$-]*", name) for name in names)
    checks.check("names: legal ones", legal, str(names))
    coarse = parts_of(block, torch.randn(2, 8, 32), coarse=True)
    names = [part.name for part in coarse]
    wanted_names = ["read_by_input_grad", "read_by_weight_grad", "read_by_both"]
    checks.check("names: by readers", names == wanted_names, str(names))
    # Offsets in a group do not change what is saved.
    size = sum(int(bytes_of(node)) for part in coarse for node in part.nodes)
    fine = sum(part.nbytes for part in parts)
    checks.check("names: the same tensors", size == fine, f"{size} and {fine} bytes")


def parts_of(module: torch.nn.Module, x: torch.Tensor, coarse: bool = False) -> list[Part]:
    layer = Layer("layer", module, [[x]], [x])
    return divide(layer, trace(layer), RECOMPUTE, False, coarse).parts
