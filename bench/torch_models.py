# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares exported models of several architectures with PyTorch, on one thread.

    torch_models.py FOLDER [--runs N] [--models NAME ...]

A loss and its gradients for one micro-batch of 4 samples of 128 tokens, width 192:
the exported program (F, I and W, as --profile measures them), torch.compile and
eager, in turns. Medians of the runs, in ms. The environment is that of
torch_export.py.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
from functools import partial
from typing import Callable

import torch
from torch import nn

import torch_export as bench

import architectures  # of test/torch/export
import models
import rondo.torch
from samples import Images, Text

SAMPLES, TOKENS, WIDTH = 4, 128, 192

models.SAMPLES = SAMPLES
models.TOKENS = architectures.TOKENS = TOKENS
architectures.WIDTH = WIDTH
architectures.INNER = 4 * WIDTH
architectures.EXPERT = 2 * WIDTH
architectures.PICTURE = (3, 96, 96)


def of(*layers: Callable[[], nn.Module]) -> dict[str, nn.Module]:
    return models.between(**{f"l{i}": layer() for i, layer in enumerate(layers)})


#: What is a transformer must be faster than torch.compile.
TRANSFORMERS: dict[str, Callable[[], dict[str, nn.Module]]] = {
    "gpt2": lambda: of(*[architectures.gpt2] * 3),
    "llama": lambda: models.of_transformers("llama", WIDTH, 512),
    "qwen3": lambda: models.of_transformers("qwen3", WIDTH, 512),
    "mixtral-batched": lambda: of(*[partial(architectures.experts, "mixtral", "batched_mm")] * 2),
    "mixtral-grouped": lambda: of(*[partial(architectures.experts, "mixtral", "grouped_mm")] * 2),
    "bert": lambda: of(architectures.Masks, *[architectures.Bert] * 3, architectures.First),
    "vit-images": models.MODELS["vit-images"],
    "encoder-decoder": models.MODELS["encoder-decoder"],
}
OTHERS = {name: models.MODELS[name] for name in ("resnet-images", "mamba")}


def output_of(
    layers: dict[str, nn.Module], inputs: dict[str, list[str]], given: torch.Tensor
) -> torch.Tensor:
    outputs: dict[str, tuple[torch.Tensor, ...]] = {}
    before = ""
    for name, module in layers.items():
        result = module(*[x for s in inputs.get(name, [before]) for x in outputs.get(s, (given,))])
        outputs[name] = result if isinstance(result, tuple) else (result,)
        before = name
    return outputs[before][0]


def measure(name: str, layers: dict[str, nn.Module], folder: pathlib.Path, runs: int) -> dict[str, float]:
    """Medians of milliseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    inputs = models.INPUTS.get(name, {})
    if name in models.OF_IMAGES:
        data: Images | Text = Images(folder / "images.safetensors")
    else:
        text = folder / "text"
        text.write_bytes(bytes(range(32, 127)) * 200)
        data = Text(text)
    model = rondo.torch.export_stages(
        layers, data.example, data.loss, data.targets, below={"labels": 4} if name in models.OF_IMAGES else None,
        out=folder / "model", ranks=1, placement=[0] * len(layers) if not inputs else None, inputs=inputs,
        microbatches=4, schedules=("search:effort=50",),
    )
    program = model.compile()
    given, targets = data.batch(1, 0)

    def call() -> torch.Tensor:
        return data.loss(output_of(layers, inputs, given), targets)

    found: dict[str, list[float]] = {"exported": [], "torch.compile": [], "eager": []}
    for _ in range(runs):
        found["exported"].append(all_stages(program, folder, data.path))
        found["torch.compile"].append(bench.time_in_torch(layers, call, True))
        found["eager"].append(bench.time_in_torch(layers, call, False))
    return {name: statistics.median(times) for name, times in found.items()}


def all_stages(program: pathlib.Path, folder: pathlib.Path, data: pathlib.Path) -> float:
    bench.stage_time(program, folder, data)
    stages = json.loads((folder / "costs.json").read_text())["stages"]
    return sum(stage[f"{kind}_ns"] for stage in stages for kind in ("forward", "input_grad", "weight_grad")) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=[*TRANSFORMERS, *OTHERS])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print("| model | exported | torch.compile | eager | exported / torch.compile |")
    print("|---|---|---|---|---|")
    for name in options.models:
        layers = {**TRANSFORMERS, **OTHERS}[name]()
        times = measure(name, layers, options.folder.resolve() / name, options.runs)
        print(f"| {name} | " + " | ".join(f"{ms:.1f} ms" for ms in times.values())
              + f" | {times['exported'] / times['torch.compile']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
