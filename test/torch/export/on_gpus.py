# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports for GPUs, on a machine without one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch

import models
from programs import Checks
from rondo.torch.export import Model, Refusal, export_stages
from rondo.torch.export.check import check_layer
from rondo.torch.export.interpret import GraphRunner
from rondo.torch.export.joint import trace
from rondo.torch.export.layer import Layer
from rondo.torch.export.target import read_target
from rondo.torch.export.tasks import divide


def check_gpus(folder: Path, checks: Checks) -> None:
    check_refusals(folder, checks)
    check_precision(checks)
    check_export(folder, checks)


def refused(folder: Path, checks: Checks, words: str, layers: Any, **options: Any) -> None:
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    try:
        export_stages(layers, tokens, models.loss, tokens, out=folder / "no", **options)
    except Refusal as refusal:
        checks.check(f"gpus: {words}", words in str(refusal), str(refusal))
    else:
        checks.check(f"gpus: {words}", False, "it was exported")


class Scaled(models.Mixing):
    """A buffer in fp32 meets activations."""

    def __init__(self, width: int):
        super().__init__(width)
        self.register_buffer("scales", torch.ones(width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.value(x) @ self.scales


class Counting(models.Mixing):
    def __init__(self, width: int):
        super().__init__(width)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return super().forward(x)


def check_refusals(folder: Path, checks: Checks) -> None:
    layers = models.mixing()
    for words, options in (
        ("device='tpu': it is 'cpu' or 'cuda'", {"device": "tpu"}),
        ("arch='sm_70' is unknown; known: sm_80,", {"device": "cuda", "arch": "sm_70"}),
        ("arch='sm_90' is for device='cuda'", {"arch": "sm_90"}),
        ("on the CPU layers compute in fp32", {"dtype": torch.bfloat16}),
        ("torch.bfloat16 or torch.float32", {"device": "cuda", "dtype": torch.float16}),
        ("with_libtorch=True is for", {"device": "cuda", "arch": "sm_90", "with_libtorch": True}),
    ):
        refused(folder, checks, words, layers, **options)
    if not torch.cuda.is_available():
        refused(folder, checks, "there is no GPU on this machine", layers, device="cuda")
    of_cuda = {"device": "cuda", "arch": "sm_90"}
    words = "as in self.cos.to(x.dtype)"
    refused(folder, checks, words, layers | {"m0": Scaled(32)}, **of_cuda)
    words = "changes its buffer 'calls' in the forward, which only programs for CPUs can"
    refused(folder, checks, words, layers | {"m0": Counting(32)}, **of_cuda)


def check_precision(checks: Checks) -> None:
    """Weight gradients of bf16 products are not rounded before they are added."""
    torch.manual_seed(0)
    x = torch.randn(2, 32, 48).bfloat16()
    target = read_target("cuda", "sm_90", torch.bfloat16)
    layer = Layer("b", models.Block(48, 4), [[x]], [x], target=target)
    body = divide(layer, trace(layer), 500, False)
    agreement = check_layer(layer, body, GraphRunner(body, layer))
    assert agreement.rounding is not None
    eager, exported = agreement.rounding
    checks.check("gpus: gradients in bf16", exported <= 2 * eager, f"{exported:.1e} {eager:.1e}")
    products = [
        node
        for node in body.tasks[2].module.graph.nodes  # type: ignore[union-attr]
        if node.target is torch.ops.aten.addmm.dtype
    ]
    checks.check("gpus: products add to fp32", len(products) == 4, str(len(products)))
    operations = {str(n.target) for t in body.tasks if t.module for n in t.module.graph.nodes}
    has_attention = any("flash_attention" in name for name in operations)
    checks.check("gpus: causal attention is one operation", has_attention)


def export(folder: Path, out: str) -> Model:
    torch.manual_seed(0)
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return export_stages(
        models.gpt(48, 4, 1),
        tokens,
        models.loss,
        tokens,
        out=folder / out,
        device="cuda",
        arch="sm_90",
        cache=folder / "cache",
    )


def check_export(folder: Path, checks: Checks) -> None:
    model = export(folder, "gpu")
    report = model.report
    checks.check("gpus: the report", (report["device"], report["dtype"]) == ("sm_90", "bf16"))
    plan = re.search(r"microbatches\(8\) target<cuda, bf16> ", model.source.read_text())
    checks.check("gpus: the plan's target", plan is not None)
    workspaces = [layer["workspace_bytes"] for layer in report["layers"]]
    checks.check("gpus: allocations are planned", all(n > 0 for n in workspaces[1:]))
    names = subprocess.run(
        ["nm", "-C", str(model.library)], capture_output=True, text=True, check=True
    ).stdout
    wanted = sorted(set(re.findall(r" U (aoti_torch_\w+)", names)))
    checks.check("gpus: attention of a GPU", any("_cuda__scaled_dot" in n for n in wanted))
    checks.check("gpus: no kernel of a CPU", not any("torch_cpu_" in n for n in wanted))
    again = export(folder, "gpu-again")
    equal = (model.folder / "model.mlir").read_bytes() == again.source.read_bytes()
    checks.check("gpus: another export states the same", equal)
    if shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists():
        program = model.compile("schedule_1f1b")
        needed = subprocess.run(
            ["readelf", "-d", str(program)], capture_output=True, text=True, check=True
        ).stdout
        holds = "libtorch" not in needed and "python" not in needed
        checks.check("gpus: the program needs no PyTorch", holds, needed if not holds else "")
