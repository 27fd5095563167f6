# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py FOLDER [MODEL|CHECK ...]: exports models, trains them, compares with eager.

Losses are compared with those of a loop in PyTorch over the same samples, weights
with each other under all schedules. Prints a line for each check, and the number of
those that passed and failed.
"""

from __future__ import annotations

import math
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
import on_gpus
import over_libtorch
import parts
from architectures import First
from programs import CONSTANT_RATE, Checks, contents, losses_of
from samples import Images, Text
from rondo.torch.export import Model, Refusal, export_stages

ITERATIONS = 12


def check_model(name: str, folder: Path, checks: Checks) -> None:
    torch.manual_seed(0)
    layers = models.MODELS[name]()
    first_buffers = {k: b.clone() for k, b in buffers_of(layers).items()}
    inputs = models.INPUTS.get(name, {})
    data = data_of(name, folder)
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
        microbatches=eager.MICROBATCHES,
        samples=[1] if name == "gpt" else None,
        schedules=("1f1b", "gpipe", "zb-h1"),
    )
    unchanged = all(
        torch.equal(b, first_buffers[k]) for k, b in buffers_of(layers).items()
    )
    checks.check(f"{name}: the export leaves buffers", unchanged)
    check_gradients(name, model, checks)
    check_kept(name, model, checks)
    losses, save = check_schedules(name, model, data, checks)
    optimizer = eager.adamw(layers)
    wanted = eager.eager_losses(layers, inputs, data, range(1, ITERATIONS + 1), optimizer)
    far = max(abs(a - b) / b for a, b in zip(losses, wanted)) if losses else 1.0
    checks.check(f"{name}: losses", len(losses) == ITERATIONS and far <= 1e-5, f"{far:.1e}")
    fresh = models.MODELS[name]()
    # Constants of the program, which checkpoints do not have.
    for buffer, value in buffers_of(fresh).items():
        value.copy_(first_buffers[buffer])
    model.load(fresh, save)
    check_loaded(name, layers, fresh, checks)
    check_buffers(name, first_buffers, buffers_of(layers), buffers_of(fresh), checks)
    check_continued(name, model, fresh, data, save, checks)
    if name == "gpt":
        features.check_features(model, data.path, checks)
        features.check_backward(model, data.path, checks)


def check_gradients(name: str, model: Model, checks: Checks) -> None:
    """Gradients are as far from those of fp64 as eager ones are, so at most twice as
    far from these; 1e-6 of the largest is allowed to all."""
    for entry in model.report["layers"]:
        far, rounding = entry["gradient_difference"], entry["gradient_rounding"]
        limit = max(1e-6, 2 * rounding["eager"]) if rounding else 1e-6
        off = f"{far:.1e} of the largest, eager's rounding {rounding}"
        checks.check(f"{name}: gradients of {entry['layer']}", far <= limit, off)


def data_of(name: str, folder: Path) -> Text | Images:
    if name in models.OF_IMAGES:
        return Images(folder / "images.safetensors")
    text = folder / "text"
    text.write_bytes(bytes(range(32, 127)) * 40)
    return Text(text)


def check_schedules(
    name: str, model: Model, data: Text | Images, checks: Checks
) -> tuple[list[float], Path]:
    """Losses and the last checkpoint of ITERATIONS under several schedules."""
    folder = model.folder.parent
    flags = ["--data", str(data.path), "--iterations", str(ITERATIONS), *CONSTANT_RATE]
    saved: list[dict[str, bytes]] = []
    losses: list[float] = []
    for schedule in ("schedule_1f1b", "gpipe", "zb_h1"):
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
    return losses, save


def check_loaded(
    name: str,
    layers: dict[str, torch.nn.Module],
    loaded: dict[str, torch.nn.Module],
    checks: Checks,
) -> None:
    """Weights of a checkpoint next to those that PyTorch has trained."""
    before = {n: p.detach().clone() for n, p in layers["head"].named_parameters()}
    off = max(
        float((p - before[n]).abs().max()) for n, p in loaded["head"].named_parameters()
    )
    checks.check(f"{name}: weights come back", off <= 1e-4, f"differ by {off:.1e}")
    kept = [
        torch.equal(p, loaded[layer].get_parameter(n))
        for layer, module in layers.items()
        for n, p in module.named_parameters()
        if not p.requires_grad
    ]
    if kept:
        checks.check(f"{name}: {len(kept)} frozen parameters", all(kept))


def buffers_of(layers: dict[str, torch.nn.Module]) -> dict[str, torch.Tensor]:
    return {f"{n}.{k}": b for n, m in layers.items() for k, b in m.named_buffers()}


def check_buffers(
    name: str,
    first: dict[str, torch.Tensor],
    wanted: dict[str, torch.Tensor],
    loaded: dict[str, torch.Tensor],
    checks: Checks,
) -> None:
    """What training has left in buffers, of those that it changes."""
    changed = [k for k in wanted if not torch.equal(wanted[k], first[k])]
    if not changed:
        return
    off = max(
        float((loaded[k] - wanted[k]).abs().max() / wanted[k].abs().max()) for k in changed
    )
    checks.check(f"{name}: {len(changed)} buffers", off <= 1e-5, f"differ by {off:.1e}")


def check_continued(
    name: str,
    model: Model,
    layers: dict[str, torch.nn.Module],
    data: Text | Images,
    save: Path,
    checks: Checks,
) -> None:
    """PyTorch continues from a program's weights and moments as the program does."""
    folder, last = model.folder.parent, ITERATIONS + 5
    optimizer = eager.adamw(layers)
    steps = model.load_optimizer(optimizer, layers, save)
    inputs = models.INPUTS.get(name, {})
    continued = eager.eager_losses(
        layers, inputs, data, range(ITERATIONS + 1, last + 1), optimizer
    )
    log = folder / f"{name}-longer.jsonl"
    log.unlink(missing_ok=True)
    flags = ["--data", str(data.path), "--iterations", str(last), *CONSTANT_RATE]
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
    "parameters in fp64": (in_double, "is torch.float64: convert"),
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
    "no output with a gradient": (lambda _, x: x.detach(), "has a gradient"),
    "a forward that raises": (
        lambda _, x: {}["missing"],
        "does not run on torch.float32 (2, 32, 32): KeyError: 'missing'",
    ),
    "a sparse output": (lambda _, x: x.to_sparse(), "does not run on"),
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
    images, labels = {"images": torch.rand(2, 3)}, {"labels": torch.tensor([1, 4])}

    def of_size(*sizes: int) -> dict[str, torch.nn.Module]:
        layers = models.mixing()
        layers["m0"].extra = torch.nn.Parameter(torch.zeros(sizes))
        return layers

    named = models.tied()
    named = {"embedding": named["embedding"], "wte": torch.nn.Linear(48, 48), "head": named["head"]}

    calls: dict[str, dict[str, Any]] = {
        "is a file": {"out": folder / "file"},
        "among 9 ranks": {"ranks": 9},
        "ranks is 0; it must be": {"ranks": 0},
        "ranks is 1.5; it must be": {"ranks": 1.5},
        "ranks is tensor(1.5000); it must be": {"ranks": torch.tensor(1.5)},
        "a rank of placement is -1": {"placement": [0, 0, -1, 0]},
        "microbatches is 0; it must be": {"microbatches": 0},
        "schedules is a string": {"schedules": "1f1b"},
        "'' is no schedule": {"schedules": ("",)},
        "1 is no schedule": {"schedules": (1,)},
        "schedules has '1f1b' twice": {"schedules": ("1f1b", "1f1b")},
        "recompute is nan": {"recompute": math.nan},
        "layers is a list": {"layers": list(models.mixing().values())},
        "not a torch.nn.Module": {"layers": models.mixing() | {"m0": torch.tanh}},
        "is (0, 3): it has no elements": {"layers": of_size(0, 3)},
        "has 9 dimensions; the maximum is 8": {"layers": of_size(*[1] * 9)},
        "has no sizes yet": {
            "layers": models.mixing() | {"m0": torch.nn.LazyLinear(32)}
        },
        "both have a tensor named 'm0.gate.weight'": {
            "layers": models.mixing() | {"m0.gate": torch.nn.Linear(1, 1)}
        },
        "a matrix that a program calls 'wte.weight'": {"layers": named},
        "example is a list": {"example": [[1]]},
        "both have one shape": {"targets": tokens[:, 1:]},
        "with a sample and a token at least": {"example": tokens[:0], "targets": tokens[:0]},
        "has tokens from": {"example": tokens + models.VOCAB},
        "vocab is 0": {"vocab": 0},
        "vocab is 256.5": {"vocab": 256.5},
        "1 layers are placed": {"placement": [0]},
        "takes tokens": {"example": tokens.float()},
        "not a layer before it": {"inputs": {"m0": ["m1"]}},
        "no layer 'm9'": {"inputs": {"m9": ["m1"]}},
        "takes the output of 'm0'": {"inputs": {"m1": ["embedding"]}},
        "no layers lead from 'm0' to 'm1'": {
            "layers": twice,
            "inputs": {"m1": ["embedding"], "head": ["m0", "m1"]},
        },
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


#: Checks that are not of one model.
OTHERS: dict[str, Callable[[Path, Checks], None]] = {
    "parts": parts.check_parts,
    "figures": lambda folder, checks: figures.check_figures(folder / "figures", checks),
    "constants": features.check_constants,
    "other bits": features.check_other_bits,
    "failing task": features.check_failing_task,
    "calls": check_calls,
    "refusals": check_refusals,
    "libtorch": over_libtorch.check_libtorch,
    "gpus": on_gpus.check_gpus,
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
