# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py FOLDER [MODEL|CHECK ...]: exports models, trains them, compares with eager.

Losses are compared with those of a loop in PyTorch over the same samples, weights
with each other under all schedules. Prints a line for each check, and the number of
those that passed and failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import torch

import eager
import features
import figures
import models
import parts
from architectures import First
from programs import CONSTANT_RATE, Checks, contents, losses_of
from rondo.torch.export import Model, Refusal, export_stages

ITERATIONS = 12
def check_model(name: str, folder: Path, checks: Checks) -> None:
    torch.manual_seed(0)
    layers = models.MODELS[name]()
    inputs = models.INPUTS.get(name, {})
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    model = export_stages(
        layers,
        tokens,
        models.loss,
        torch.roll(tokens, -1, 1),
        out=folder / name,
        ranks=2,
        # Each layer that does not just feed the next ends a stage, on its own rank.
        placement=list(range(len(layers))) if inputs else None,
        inputs=inputs,
        microbatches=eager.MICROBATCHES,
        schedules=("1f1b", "gpipe", "zb-h1"),
    )
    worst = max(entry["gradient_difference"] for entry in model.report["layers"])
    checks.check(f"{name}: gradients", worst <= 1e-6, f"{worst:.1e} of the largest")
    check_kept(name, model, checks)
    text = bytes(range(32, 127)) * 40
    data = folder / "text"
    data.write_bytes(text)
    flags = ["--data", str(data), "--iterations", str(ITERATIONS), *CONSTANT_RATE]
    saved: list[dict[str, bytes]] = []
    losses: list[float] = []
    for schedule in ("1f1b", "gpipe", "zb_h1"):
        schedule = f"schedule_{schedule}" if schedule[0].isdigit() else schedule
        program = model.compile(schedule)
        libraries = subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, check=True
        ).stdout
        checks.check(
            f"{name}: no PyTorch", "torch" not in libraries and "python" not in libraries
        )
        save = folder / f"{name}-{schedule}.safetensors"
        log = folder / f"{name}-{schedule}.jsonl"
        log.unlink(missing_ok=True)
        model.run(*flags, "--save", str(save), "--json-log", str(log))
        saved.append(contents(save))
        losses = losses_of(log)
    equal = all(tensors == saved[0] for tensors in saved)
    checks.check(f"{name}: equal bits under all schedules", equal)
    verified = subprocess.run(
        [str(model.folder / "train"), "--verify"], capture_output=True, text=True
    )
    checks.check(f"{name}: verify", verified.returncode == 0, verified.stderr.strip())
    optimizer = eager.adamw(layers)
    wanted = eager.eager_losses(layers, inputs, text, range(1, ITERATIONS + 1), optimizer)
    far = max(abs(a - b) / b for a, b in zip(losses, wanted)) if losses else 1.0
    checks.check(f"{name}: losses", len(losses) == ITERATIONS and far <= 1e-5, f"{far:.1e}")
    before = {n: p.detach().clone() for n, p in layers["head"].named_parameters()}
    fresh = models.MODELS[name]()
    model.load(fresh, save)
    off = max(
        float((p - before[n]).abs().max()) for n, p in fresh["head"].named_parameters()
    )
    checks.check(f"{name}: weights come back", off <= 1e-4, f"differ by {off:.1e}")
    kept = [
        torch.equal(p, fresh[layer].get_parameter(n))
        for layer, module in layers.items()
        for n, p in module.named_parameters()
        if not p.requires_grad
    ]
    if kept:
        checks.check(f"{name}: {len(kept)} frozen parameters", all(kept))
    check_continued(name, model, fresh, save, checks)
    if name == "gpt":
        features.check_features(model, data, checks)
        features.check_backward(model, data, checks)


def check_continued(
    name: str, model: Model, layers: dict[str, torch.nn.Module], save: Path, checks: Checks
) -> None:
    """PyTorch continues from a program's weights and moments as the program does."""
    folder, last = model.folder.parent, ITERATIONS + 5
    optimizer = eager.adamw(layers)
    steps = model.load_optimizer(optimizer, layers, save)
    text = (folder / "text").read_bytes()
    inputs = models.INPUTS.get(name, {})
    continued = eager.eager_losses(
        layers, inputs, text, range(ITERATIONS + 1, last + 1), optimizer
    )
    log = folder / f"{name}-longer.jsonl"
    log.unlink(missing_ok=True)
    flags = ["--data", str(folder / "text"), "--iterations", str(last), *CONSTANT_RATE]
    model.run(*flags, "--json-log", str(log))
    pairs = list(zip(continued, losses_of(log)[ITERATIONS:], strict=True))
    far = max(abs(a - b) / b for a, b in pairs)
    holds = steps == ITERATIONS and far <= 1e-5
    checks.check(f"{name}: PyTorch continues with the optimizer's state", holds, f"{far:.1e}")


#: What F keeps, as a part of what eager execution keeps: of all layers of a GPT but its
#: embedding and head, and of a Llama.
MOST_KEPT = {"gpt": ("h", 0.65), "gpt2": ("g", 0.65), "llama": ("l", 0.65), "qwen3": ("l", 0.65)}


def check_kept(name: str, model: Model, checks: Checks) -> None:
    if name not in MOST_KEPT:
        return
    prefix, most = MOST_KEPT[name]
    parts = [
        (entry["saved_for_input_grad_bytes"] + entry["saved_for_weight_grad_bytes"])
        / entry["eager_saved_bytes"]
        for entry in model.report["layers"]
        if re.fullmatch(rf"{prefix}\d+", entry["layer"])
    ]
    holds = bool(parts) and max(parts) <= most
    checks.check(f"{name}: kept after F", holds, f"{max(parts, default=1):.3f} of eager")


class Layer(models.Mixing):
    """A layer that calls a function on its way."""

    def __init__(self, function: Callable[[Any, torch.Tensor], torch.Tensor]):
        super().__init__(32)
        self.function = function
        self.inner = Inner(function)
        self.up = torch.nn.ConvTranspose1d(32, 32, 1)
        self.solid = torch.nn.Conv3d(1, 1, 1)
        if function is in_double:
            self.precise = torch.nn.Linear(32, 32).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(super().forward(x), self)


class Inner(torch.nn.Module):
    def __init__(self, function: Callable[[Any, torch.Tensor], torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, layer: Any) -> torch.Tensor:
        return self.function(layer, x)


class Opaque(torch.autograd.Function):
    """Its gradient is computed by NumPy."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, grad: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(grad.numpy() * 2)


def count(layer: Any, x: torch.Tensor) -> torch.Tensor:
    layer.counts.add_(1)
    return x


def in_double(layer: Any, x: torch.Tensor) -> torch.Tensor:
    return layer.precise(x.double()).float()


def spread(layer: Any, x: torch.Tensor) -> torch.Tensor:
    return x + torch.zeros(len(x[x > 0])).sum()


#: What a layer does, and words of the refusal.
REFUSALS: dict[str, tuple[Callable[[Any, torch.Tensor], Any], str]] = {
    "normal random numbers": (lambda _, x: x + torch.randn_like(x), "'inner': aten.randn"),
    "a branch on data": (
        lambda _, x: x if float(x.sum()) > 0 else -x,
        "'inner': aten._local_scalar_dense",
    ),
    "a shape of data": (spread, "'inner': the shape of what aten.nonzero"),
    "a buffer that changes": (count, "counts"),
    "a transposed convolution": (
        lambda layer, x: layer.up(x.transpose(1, 2)).transpose(1, 2),
        "'up': aten.convolution.default is transposed",
    ),
    "a convolution of three dimensions": (
        lambda layer, x: layer.solid(x[:, None, None])[:, 0, 0],
        "'solid': aten.convolution.default is of three",
    ),
    "complex numbers": (
        lambda _, x: torch.view_as_real(torch.view_as_complex(x.view(2, 32, 16, 2))).flatten(2),
        "'inner': aten.view_as_complex.default gives torch.complex64",
    ),
    "a product in fp64": (
        lambda _, x: (x.double() @ torch.eye(32, dtype=torch.float64)).float(),
        "'inner': aten.mm.default gives torch.float64",
    ),
    "parameters in fp64": (in_double, "aten.addmm.default gives torch.float64"),
    "a call that the library refuses": (
        lambda _, x: x + x.detach().histc().sum(),
        "failed: histc takes fp32, and a least value below the largest",
    ),
    "bf16": (lambda _, x: (x.bfloat16() * 2).float(), "'inner': prims.convert_element"),
    "a function without a graph": (lambda _, x: Opaque.apply(x), "is not one graph"),
    "a number as output": (lambda _, x: 3, "returns a int"),
    "an operation with effects": (
        lambda _, x: x + torch.linalg.inv(torch.eye(32) + x),
        "has effects",
    ),
    "an output without gradient": (
        lambda _, x: (x, torch.ones(3)),
        "2 tensors of fp32, of which only 1",
    ),
    "a missing operation": (lambda _, x: x.cummax(1).values, "uses cummax"),
}


def check_refusals(folder: Path, checks: Checks) -> None:
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    for name, (function, mentioned) in REFUSALS.items():
        layers = models.mixing() | {"m0": Layer(function), "m1": First()}
        try:
            export_stages(layers, tokens, models.loss, tokens, out=folder / "refused")
        except Refusal as refusal:
            holds = mentioned in str(refusal) and "m0" in str(refusal)
            checks.check(f"refused: {name}", holds, str(refusal))
        else:
            checks.check(f"refused: {name}", False, "it was exported")


def check_calls(folder: Path, checks: Checks) -> None:
    """Wrong arguments are refused before anything is compiled."""
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    (folder / "file").touch()
    calls = {
        "is a file": {"out": folder / "file"},
        "among 9 ranks": {"out": folder / "refused", "ranks": 9},
        "1 layers are placed": {"out": folder / "refused", "placement": [0]},
        "takes tokens": {"out": folder / "refused", "example": tokens.float()},
        "not a layer before it": {"out": folder / "refused", "inputs": {"m0": ["m1"]}},
        "no layer 'm9'": {"out": folder / "refused", "inputs": {"m9": ["m1"]}},
        "takes the output of 'm0'": {
            "out": folder / "refused",
            "inputs": {"m1": ["embedding"]},
        },
    }
    for mentioned, arguments in calls.items():
        given = {"example": tokens} | arguments
        try:
            export_stages(
                models.mixing(), loss_fn=models.loss, targets=tokens, **given
            )
        except Refusal as refusal:
            checks.check(f"refused: {mentioned}", mentioned in str(refusal), str(refusal))
        else:
            checks.check(f"refused: {mentioned}", False, "it was exported")


def check_page(folder: Path, checks: Checks) -> None:
    """The example of docs/export.md."""
    page = Path(__file__).parents[3] / "docs" / "export.md"
    found = re.search(r"```python export.py\n(.*?)```", page.read_text(), re.S)
    assert found
    (folder / "export.py").write_text(found[1])
    (folder / "text.txt").write_text("a schedule follows its network. " * 300)
    done = subprocess.run(
        [sys.executable, "export.py"], cwd=folder, capture_output=True, text=True
    )
    losses = re.findall(r"loss (\d+\.\d+)", done.stdout)
    checks.check(
        "docs/export.md",
        done.returncode == 0 and len(losses) >= 20 and losses[-1] < losses[0],
        done.stderr.strip()[-300:] if done.returncode else "",
    )


#: Checks that are not of one model.
OTHERS: dict[str, Callable[[Path, Checks], None]] = {
    "parts": parts.check_parts,
    "figures": lambda folder, checks: figures.check_figures(folder / "figures", checks),
    "other bits": features.check_other_bits,
    "failing task": features.check_failing_task,
    "calls": check_calls,
    "refusals": check_refusals,
    "page": check_page,
}


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    for name in sys.argv[2:] or (*models.MODELS, *OTHERS):
        if name in OTHERS:
            OTHERS[name](folder, checks)
        else:
            check_model(name, folder, checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


main()
