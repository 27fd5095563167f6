# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the tasks of a layer with PyTorch's eager execution."""

from __future__ import annotations

import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import torch

from .joint import Layer, Refusal
from .library import write_contents
from .tasks import Body, aligned

#: Largest difference that is taken for rounding, relative to the largest gradient
#: of the layer.
TOLERANCE = 1e-5


@dataclass
class Agreement:
    """Largest differences of a layer's tasks from eager execution, relative to the
    largest value of the outputs, and of the gradients."""

    output: float
    gradient: float
    #: Medians of F, I and W, in ns.
    times: tuple[int, int, int]


class Buffers:
    """The buffers of a layer's tasks, in a file that a probe reads and writes."""

    def __init__(self, body: Body, layer: Layer, path: Path):
        edge = sum(aligned(x.numel() * x.element_size()) for x in layer.inputs)
        is_inner = not layer.is_first
        self.sizes = {
            "weights": body.weight_bytes,
            "gradients": body.weight_bytes,
            "saved_for_input_grad": body.saved_for_input_grad_bytes,
            "saved_for_weight_grad": body.saved_for_weight_grad_bytes,
            "inputs": edge if is_inner else 0,
            "input_grads": edge if is_inner else 0,
            "output": body.output_bytes,
            "output_grad": body.output_bytes,
            "workspace": body.workspace_bytes,
            "data": 0 if is_inner and layer.targets is None else _data(layer).numel() * 4,
            "loss": 4 if layer.loss_fn is not None else 0,
        }
        # A byte that nothing writes stays part of a NaN, which the comparison finds.
        self.values = {
            name: bytearray(b"\xff" * size) for name, size in self.sizes.items()
        }
        self.path = path

    def put(self, name: str, offset: int, tensor: torch.Tensor) -> None:
        raw = tensor.detach().contiguous().numpy().tobytes()
        self.values[name][offset : offset + len(raw)] = raw

    def get(self, name: str, offset: int, like: torch.Tensor) -> torch.Tensor:
        size = like.numel() * like.element_size()
        raw = bytearray(self.values[name][offset : offset + size])
        return torch.frombuffer(raw, dtype=like.dtype).reshape(like.shape)

    def run(self, probe: Path, body: str, kind: str, loss_scale: float) -> None:
        self.values["workspace"] = bytearray(b"\xff" * self.sizes["workspace"])
        lines = [f"{name} 0 {size}" for name, size in self.sizes.items()]
        begin = write_contents(self.path, lines, [bytes(v) for v in self.values.values()])
        done = subprocess.run(
            [str(probe), "run", body, kind, str(self.path), str(loss_scale)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"the probe ended with {done.returncode}")
        raw = self.path.read_bytes()[begin:]
        place = 0
        for name, size in self.sizes.items():
            self.values[name] = bytearray(raw[place : place + size])
            place += aligned(size)


    def measure(self, probe: Path, body: str, kind: str) -> int:
        """The median time in ns of a task on the buffers that its last run left."""
        done = subprocess.run(
            [str(probe), "time", body, kind, str(self.path), "1", "7"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        # The first runs load the graph and touch memory.
        return int(statistics.median([int(n) for n in done.stdout.split()][2:]))


def _data(layer: Layer) -> torch.Tensor:
    return layer.inputs[0] if layer.targets is None else layer.targets


def check_layer(
    layer: Layer, body: Body, name: str, probe: Path, folder: Path
) -> Agreement:
    """Runs F, I and W, and compares outputs and gradients with eager ones. W runs a
    second time with gradients that do not lie in place, and must give the same bits.
    Raises Refusal where they differ by more than TOLERANCE."""
    loss_scale = 0.25
    outputs, expected, grads, given = _eager(layer, loss_scale)
    buffers = Buffers(body, layer, folder / f"{layer.name}.buffers")
    for tensor, parameter, offset in body.weights:
        buffers.put("weights", offset, parameter)
    _put_edges(buffers, layer, given)
    buffers.values["gradients"] = bytearray(len(buffers.values["gradients"]))
    buffers.run(probe, name, "F", loss_scale)
    times = [buffers.measure(probe, name, "F")]
    found = _outputs(buffers, layer, outputs)
    output_error = _difference(found, outputs)
    # Inputs and outputs may be gone when I runs, what I reads when W does.
    for gone in ("inputs", "output", "data"):
        buffers.values[gone] = bytearray(b"\xff" * buffers.sizes[gone])
    buffers.run(probe, name, "I", loss_scale)
    times.append(buffers.measure(probe, name, "I"))
    input_grads = _input_grads(buffers, layer)
    for gone in ("output_grad", "input_grads", "saved_for_input_grad"):
        buffers.values[gone] = bytearray(b"\xff" * buffers.sizes[gone])
    before = {k: bytearray(v) for k, v in buffers.values.items()}
    buffers.run(probe, name, "W", loss_scale)
    buffers.run(probe, name, "W", loss_scale)
    twice = buffers.values["gradients"]
    buffers.values = before
    buffers.run(probe, name, "W_copied", loss_scale)
    once = bytearray(buffers.values["gradients"])
    buffers.run(probe, name, "W_copied", loss_scale)
    if twice != buffers.values["gradients"]:
        raise Refusal(
            f"layer '{layer.name}': gradients differ when W writes them in place"
        )
    times.append(buffers.measure(probe, name, "W"))
    buffers.path.unlink()
    buffers.values["gradients"] = once
    weight_grads = [
        buffers.get("gradients", offset, parameter.detach())
        for _, parameter, offset in body.weights
    ]
    gradient_error = _difference(
        input_grads + [g for g, e in zip(weight_grads, grads) if e is not None],
        expected + [g for g in grads if g is not None],
    )
    for what, error in (("outputs", output_error), ("gradients", gradient_error)):
        if not error <= TOLERANCE:
            raise Refusal(
                f"layer '{layer.name}': {what} of its compiled graphs differ from "
                f"PyTorch's by {error:.2g} of the largest, more than {TOLERANCE:g}"
            )
    return Agreement(output_error, gradient_error, (times[0], times[1], times[2]))


def _eager(
    layer: Layer, loss_scale: float
) -> tuple[
    list[torch.Tensor],
    list[torch.Tensor],
    list[torch.Tensor | None],
    list[torch.Tensor],
]:
    """Outputs, gradients of the inputs and of the parameters, and the gradients of
    the outputs that they follow from."""
    inputs = [
        x.detach().clone().requires_grad_(x.is_floating_point() and not layer.is_first)
        for x in layer.inputs
    ]
    values = dict(layer.parameters) | dict(layer.buffers)
    outputs = layer.call(values, inputs, layer.targets)
    floats = [x for x in outputs if x.is_floating_point()]
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(x.shape, generator=generator) for x in floats]
    if layer.loss_fn is not None:
        given = [torch.tensor(loss_scale)]
    wanted = [x for x in inputs if x.requires_grad]
    trained = [p for _, p in layer.parameters if p.requires_grad]
    found = torch.autograd.grad(floats, wanted + trained, given, allow_unused=True)
    input_grads = [
        torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found)
    ]
    of_trained = iter(found[len(wanted) :])
    grads = [
        next(of_trained) if p.requires_grad else None for _, p in layer.parameters
    ]
    return [x.detach() for x in outputs], input_grads, grads, given


def _put_edges(buffers: Buffers, layer: Layer, given: Sequence[torch.Tensor]) -> None:
    if layer.is_first or layer.targets is not None:
        buffers.put("data", 0, _data(layer).to(torch.int32))
    if not layer.is_first:
        place = 0
        for tensor in layer.inputs:
            stored = tensor if tensor.is_floating_point() else tensor.to(torch.int32)
            buffers.put("inputs", place, stored)
            place += aligned(stored.numel() * stored.element_size())
    if layer.loss_fn is None:
        place, grads = 0, iter(given)
        for tensor in layer.outputs:
            if tensor.is_floating_point():
                buffers.put("output_grad", place, next(grads))
            place += aligned(tensor.numel() * tensor.element_size())


def _outputs(
    buffers: Buffers, layer: Layer, outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    if layer.loss_fn is not None:
        return [buffers.get("loss", 0, outputs[0])]
    found, place = [], 0
    for tensor in layer.outputs:
        found.append(buffers.get("output", place, tensor))
        place += aligned(tensor.numel() * tensor.element_size())
    return found


def _input_grads(buffers: Buffers, layer: Layer) -> list[torch.Tensor]:
    if layer.is_first:
        return []
    found, place = [], 0
    for tensor in layer.inputs:
        if tensor.is_floating_point():
            found.append(buffers.get("input_grads", place, tensor))
        place += aligned(tensor.numel() * tensor.element_size())
    return found


def _difference(
    found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> float:
    """The largest difference, relative to the largest expected value; NaN if one is
    a NaN."""
    most = max((float(e.abs().max()) for e in expected if e.numel()), default=0.0)
    errors = [
        float((f.double() - e.double()).abs().max())
        for f, e in zip(found, expected)
        if e.numel()
    ]
    worst = 0.0
    for error in errors:
        # A comparison with NaN would hide it.
        worst = error if not error <= worst else worst
    return worst / most if most > 0 else worst
