# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that Rondo's library does not have, in PyTorch's own library."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import torch
import torch.nn.functional as functional

import eager
import models
from programs import CONSTANT_RATE, Checks, contents, losses_of
from rondo.torch.export import Refusal, export_stages, libtorch
from samples import Text

ITERATIONS = 4


class Cumulative(models.Mixing):
    """Largest values, products and sums up to each token, and samples of an image."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        largest, _ = y.cummax(1)
        y = largest + torch.cumprod(y.sigmoid(), 1) + y.logcumsumexp(1) * 0.1
        image = functional.max_pool2d(y[:, None], 3, stride=2, padding=1)
        return x + functional.interpolate(image, size=x.shape[1:], mode="bicubic")[:, 0]


def check_libtorch(folder: Path, checks: Checks) -> None:
    torch.manual_seed(0)
    layers = models.mixing() | {"m0": Cumulative(32)}
    text = folder / "text"
    text.write_bytes(bytes(range(32, 127)) * 40)
    data = Text(text)
    arguments = (layers, data.example, data.loss, data.targets)
    out = folder / "libtorch"
    try:
        export_stages(*arguments, out=out)
    except Refusal as refusal:
        holds = "or export with with_libtorch=True" in str(refusal)
        checks.check("libtorch: the refusal names it", holds, str(refusal))
    else:
        checks.check("libtorch: the refusal names it", False, "it was exported")
    model = export_stages(
        *arguments, out=out, microbatches=eager.MICROBATCHES, with_libtorch=True
    )
    functions = model.report["over_libtorch"]
    checks.check("libtorch: in the report", "aoti_torch_cpu_cummax" in functions, str(functions))
    flags = ["--data", str(text), "--iterations", str(ITERATIONS), *CONSTANT_RATE]
    saved, losses = [], []
    for schedule in ("schedule_1f1b", "zb_h1"):
        program = model.compile(schedule)
        save, log = folder / f"libtorch-{schedule}.safetensors", folder / "libtorch.jsonl"
        log.unlink(missing_ok=True)
        model.run(*flags, "--save", str(save), "--json-log", str(log))
        saved.append(contents(save))
        losses = losses_of(log)
    checks.check("libtorch: equal bits under all schedules", saved[0] == saved[1])
    wanted = eager.eager_losses(
        layers, {}, data, range(1, ITERATIONS + 1), eager.adamw(layers)
    )
    far = max(abs(a - b) / b for a, b in zip(losses, wanted)) if losses else 1.0
    checks.check("libtorch: losses", len(losses) == ITERATIONS and far <= 1e-5, f"{far:.1e}")
    for named, said in ((folder, "cannot be opened"), (libtorch.folder(), "")):
        environment = {**os.environ, "RONDO_LIBTORCH": str(named)}
        done = subprocess.run(
            [program, "--init", str(out / "init.safetensors"), *flags], capture_output=True, text=True, env=environment, check=False
        )
        errors = re.findall(r"error: .*", done.stderr)
        holds = len(errors) == bool(said) and said in "".join(errors)
        checks.check(f"libtorch: RONDO_LIBTORCH, {said or 'opened'}", holds, done.stderr.strip())
