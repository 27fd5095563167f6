# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py FOLDER [MODEL ...]: exports models, trains them, and compares with eager.

Losses are compared with those of a loop in PyTorch over the same samples, weights
with each other under all schedules. Prints a line for each check, and the number of
those that passed and failed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import torch

import models
import architectures
from architectures import First
from rondo.torch.export import HashedRandom, Refusal, export_stages

ITERATIONS, MICROBATCHES = 12, 4
MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """SplitMix64's output for the state x."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def picked(count: int, iteration: int, sample: int) -> int:
    """Which of so many places a program with --seed 1 takes for a sample."""
    return (mix((mix((mix(1) + iteration) & MASK) + sample) & MASK) * count) >> 64


class Text:
    """Tokens, and the next tokens as targets."""

    def __init__(self, folder: Path):
        self.text = bytes(range(32, 127)) * 40
        self.path = folder / "text"
        self.path.write_bytes(self.text)
        self.example = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
        self.targets = torch.roll(self.example, -1, 1)
        self.loss = models.loss

    def batch(self, iteration: int, microbatch: int) -> tuple[torch.Tensor, torch.Tensor]:
        end = len(self.text) - int(len(self.text) * 0.05) - models.TOKENS
        begins = [
            picked(end, iteration, microbatch * models.SAMPLES + s)
            for s in range(models.SAMPLES)
        ]
        rows = torch.tensor([list(self.text[b : b + models.TOKENS + 1]) for b in begins])
        return rows[:, :-1], rows[:, 1:]


class Images:
    """Images, and the class of each: the brightest quarter."""

    def __init__(self, folder: Path):
        from safetensors.torch import save_file

        count, samples = 200, models.SAMPLES
        generator = torch.Generator().manual_seed(3)
        images = torch.rand(count, *architectures.PICTURE, generator=generator)
        quarters = torch.nn.functional.adaptive_avg_pool2d(images.mean(1, keepdim=True), 2)
        labels = quarters.flatten(1).argmax(1)
        self.images, self.labels = images, labels
        self.path = folder / "images.safetensors"
        save_file({"images": images, "labels": labels}, self.path)
        self.example = {"images": images[:samples]}
        self.targets = {"labels": labels[:samples]}
        self.loss = torch.nn.functional.cross_entropy

    def batch(self, iteration: int, microbatch: int) -> tuple[torch.Tensor, torch.Tensor]:
        end = len(self.images) - int(len(self.images) * 0.05)
        rows = [
            picked(end, iteration, microbatch * models.SAMPLES + s)
            for s in range(models.SAMPLES)
        ]
        return self.images[rows], self.labels[rows]


def eager_output(
    layers: dict[str, torch.nn.Module],
    inputs: dict[str, list[str]],
    tokens: torch.Tensor,
    iteration: int,
    microbatch: int,
) -> torch.Tensor:
    """What the layers return, with the random numbers that a program draws."""
    outputs: dict[str, list[torch.Tensor]] = {}
    before = ""
    for name, module in layers.items():
        given = [x for s in inputs.get(name, [before]) for x in outputs.get(s, [tokens])]
        with HashedRandom(name, seed=1, iteration=iteration, microbatch=microbatch):
            result = module(*given)
        outputs[name] = list(result) if isinstance(result, tuple) else [result]
        before = name
    return outputs[before][0]


def eager_losses(
    layers: dict[str, torch.nn.Module],
    inputs: dict[str, list[str]],
    data: Text | Images,
) -> list[float]:
    """Losses of the same training in PyTorch."""
    named = list(torch.nn.ModuleDict(layers).named_parameters())
    groups = [
        {"params": [p for _, p in named if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for _, p in named if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for iteration in range(1, ITERATIONS + 1):
        optimizer.zero_grad()
        total = 0.0
        for microbatch in range(MICROBATCHES):
            given, targets = data.batch(iteration, microbatch)
            output = eager_output(layers, inputs, given, iteration - 1, microbatch)
            loss = data.loss(output, targets) / MICROBATCHES
            loss.backward()
            total += float(loss)
        torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        optimizer.step()
        losses.append(total)
    return losses


def contents(path: Path) -> bytes:
    """The tensors of a checkpoint. What comes before them names the schedule."""
    raw = path.read_bytes()
    return raw[8 + int.from_bytes(raw[:8], "little") :]


class Checks:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, name: str, holds: bool, what: str = "") -> None:
        self.passed += holds
        self.failed += not holds
        print(f"{'ok' if holds else 'FAILED'} {name}{': ' if what else ''}{what}", flush=True)


def check_model(name: str, folder: Path, checks: Checks) -> None:
    torch.manual_seed(0)
    layers = models.MODELS[name]()
    first_buffers = {k: b.clone() for k, b in buffers_of(layers).items()}
    inputs = models.INPUTS.get(name, {})
    data = Images(folder) if name in models.OF_IMAGES else Text(folder)
    model = export_stages(
        layers,
        data.example,
        data.loss,
        data.targets,
        below={"labels": 4} if name in models.OF_IMAGES else None,
        out=folder / name,
        ranks=2,
        # Each layer that does not just feed the next ends a stage, on its own rank.
        placement=list(range(len(layers))) if inputs else models.PLACEMENTS.get(name),
        inputs=inputs,
        microbatches=MICROBATCHES,
        schedules=("1f1b", "gpipe", "zb-h1"),
    )
    unchanged = all(
        torch.equal(b, first_buffers[k]) for k, b in buffers_of(layers).items()
    )
    checks.check(f"{name}: the export leaves buffers", unchanged)
    worst = max(entry["gradient_difference"] for entry in model.report["layers"])
    checks.check(f"{name}: gradients", worst <= 1e-6, f"{worst:.1e} of the largest")
    flags = ["--data", str(data.path), "--iterations", str(ITERATIONS)]
    flags += ["--lr", "1e-3", "--min-lr", "1e-3", "--warmup", "0"]
    saved: list[bytes] = []
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
        losses = [
            entry["loss"]
            for entry in map(json.loads, log.read_text().splitlines())
            if "loss" in entry
        ]
    checks.check(f"{name}: equal bits under all schedules", len(set(saved)) == 1)
    verified = subprocess.run(
        [str(model.folder / "train"), "--verify"], capture_output=True, text=True
    )
    checks.check(f"{name}: verify", verified.returncode == 0, verified.stderr.strip())
    wanted = eager_losses(layers, inputs, data)
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
    check_buffers(name, first_buffers, buffers_of(layers), buffers_of(fresh), checks)


def buffers_of(layers: dict[str, torch.nn.Module]) -> dict[str, torch.Tensor]:
    return {f"{n}.{k}": b for n, m in layers.items() for k, b in m.named_buffers()}


def check_buffers(
    name: str,
    first: dict[str, torch.Tensor],
    eager: dict[str, torch.Tensor],
    loaded: dict[str, torch.Tensor],
    checks: Checks,
) -> None:
    """What training has left in buffers, of those that it changes."""
    changed = [k for k in eager if not torch.equal(eager[k], first[k])]
    if not changed:
        return
    off = max(
        float((loaded[k] - eager[k]).abs().max() / eager[k].abs().max()) for k in changed
    )
    checks.check(f"{name}: {len(changed)} buffers", off <= 1e-5, f"differ by {off:.1e}")


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


def replace(layer: Any, x: torch.Tensor) -> torch.Tensor:
    layer.counts = layer.counts + 1
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
    "a buffer that changes": (count, "changes its buffer 'counts'"),
    "a buffer that is replaced": (replace, "changes its buffer 'counts'"),
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
    "a call that the library refuses": (lambda _, x: x + x.detach().histc().sum(), "layer 'm0': F cannot run"),
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
    "weights that give NaN": (lambda _, x: x * float("nan"), "have a NaN"),
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
    twice = models.mixing()
    twice["m1"].gate.weight = twice["m0"].gate.weight
    turned = models.mixing()
    turned["head"].out.weight = turned["embedding"].wpe.weight
    images, labels = {"images": torch.rand(2, 3)}, {"labels": torch.tensor([1, 4])}
    calls: dict[str, dict[str, Any]] = {
        "is a file": {"out": folder / "file"},
        "among 9 ranks": {"ranks": 9},
        "1 layers are placed": {"placement": [0]},
        "takes tokens": {"example": tokens.float()},
        "not a layer before it": {"inputs": {"m0": ["m1"]}},
        "no layer 'm9'": {"inputs": {"m9": ["m1"]}},
        "takes the output of 'm0'": {"inputs": {"m1": ["embedding"]}},
        "'m0.gate.weight' and 'm1.gate.weight' are one parameter": {"layers": twice},
        "a row for each token, here 256": {"layers": turned},
        "are both tokens, or both tensors": {"example": images},
        "state which, from 0 to N - 1": {"example": images, "targets": labels},
        "numbers from 1 to 4, and below states 0 to 3": {
            "example": images,
            "targets": labels,
            "below": {"labels": 4},
        },
        "first size, here 2": {"example": images, "targets": {"x": torch.rand(3)}},
        "there are no data 'label'": {
            "example": images,
            "targets": labels,
            "below": {"label": 5},
        },
    }
    for mentioned, arguments in calls.items():
        defaults = {
            "layers": models.mixing(),
            "example": tokens,
            "targets": tokens,
            "out": folder / "refused",
        }
        try:
            export_stages(loss_fn=models.loss, **(defaults | arguments))
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


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    for name in sys.argv[2:] or models.MODELS:
        check_model(name, folder, checks)
    if not sys.argv[2:]:
        check_calls(folder, checks)
        check_refusals(folder, checks)
        check_page(folder, checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


main()
