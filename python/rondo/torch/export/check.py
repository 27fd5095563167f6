# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the tasks of a layer with PyTorch's eager execution."""

from __future__ import annotations

import math
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import torch

from .joint import Layer, Refusal, staged
from .library import PROBED, write_contents
from .random_numbers import HashedRandom
from .tasks import Body, Place, Region, Weight, aligned, data_place, edge_places

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
        self.sizes = {
            ("weights", 0): body.weight_bytes,
            ("gradients", 0): body.weight_bytes - body.frozen_weight_bytes,
            ("saved_for_input_grad", 0): body.saved_for_input_grad_bytes,
            ("saved_for_weight_grad", 0): body.saved_for_weight_grad_bytes,
            ("kept_for_weight_grad", 0): body.kept_for_weight_grad_bytes,
            ("output", 0): body.output_bytes,
            ("output_grad", 0): body.output_bytes,
            ("workspace", 0): body.workspace_bytes,
            ("loss", 0): 4 if layer.loss_fn is not None else 0,
        }
        for index, tensor in enumerate(layer.data):
            place = data_place(layer, index)
            self.sizes[place.space, place.index] = staged(tensor).nbytes
        for space in ("inputs", "input_grads"):
            for index, size in enumerate(edge_places(layer, space)[1]):
                self.sizes[space, index] = size
        # A byte that nothing writes stays part of a NaN, which the comparison finds.
        self.values = {
            buffer: bytearray(b"\xff" * size) for buffer, size in self.sizes.items()
        }
        self.path = path

    def put(self, place: Place, tensor: torch.Tensor) -> None:
        raw = tensor.detach().contiguous().numpy().tobytes()
        memory = self.values[place.space, place.index]
        memory[place.offset : place.offset + len(raw)] = raw

    def get(self, place: Place, like: torch.Tensor) -> torch.Tensor:
        size = like.numel() * like.element_size()
        memory = self.values[place.space, place.index]
        raw = bytearray(memory[place.offset : place.offset + size])
        return torch.frombuffer(raw, dtype=like.dtype).reshape(like.shape)

    def forget(self, *spaces: str) -> None:
        """What a task may not read."""
        for buffer, size in self.sizes.items():
            if buffer[0] in spaces:
                self.values[buffer] = bytearray(b"\xff" * size)

    def run(self, probe: Path, body: str, kind: str, loss_scale: float) -> None:
        self.forget("workspace")
        lines = [f"{name} {index} {size}" for (name, index), size in self.sizes.items()]
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
        for buffer, size in self.sizes.items():
            self.values[buffer] = bytearray(raw[place : place + size])
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


def check_layer(
    layer: Layer, body: Body, name: str, probe: Path, folder: Path
) -> Agreement:
    """Runs F, I and W, and compares outputs and gradients with eager ones. W runs a
    second time with gradients that do not lie in place, and must give the same bits.
    Raises Refusal where they differ by more than TOLERANCE."""
    loss_scale = 0.25
    eager = _eager(layer, loss_scale)
    _refuse_nan(layer, eager)
    buffers = Buffers(body, layer, folder / f"{layer.name}.buffers")
    for weight in body.weights:
        buffers.put(Place("weights", weight.offset), weight.value.float())
    _put_edges(buffers, layer, eager.output_grads)
    gradients = "gradients", 0
    buffers.values[gradients] = bytearray(buffers.sizes[gradients])
    buffers.run(probe, name, "F", loss_scale)
    times = [buffers.measure(probe, name, "F")]
    output_error = _difference(_outputs(buffers, layer, eager.outputs), eager.outputs)
    running_error = max(
        (
            _difference([buffers.get(Place("weights", w.offset), value)], [value])
            for w, value in _running(body, eager)
        ),
        default=0.0,
    )
    # Inputs and outputs may be gone when I runs, what I reads when W does.
    buffers.forget("inputs", "output", "data", "streams")
    buffers.run(probe, name, "I", loss_scale)
    times.append(buffers.measure(probe, name, "I"))
    input_grads = _input_grads(buffers, layer)
    buffers.forget("output_grad", "input_grads", "saved_for_input_grad")
    before = {k: bytearray(v) for k, v in buffers.values.items()}
    buffers.run(probe, name, "W", loss_scale)
    buffers.run(probe, name, "W", loss_scale)
    twice = buffers.values[gradients]
    buffers.values = before
    buffers.run(probe, name, "W_copied", loss_scale)
    once = bytearray(buffers.values[gradients])
    buffers.run(probe, name, "W_copied", loss_scale)
    if twice != buffers.values[gradients]:
        raise Refusal(
            f"layer '{layer.name}': gradients differ when W writes them in place"
        )
    times.append(buffers.measure(probe, name, "W"))
    buffers.path.unlink()
    buffers.values[gradients] = once
    trained = [w for w in body.weights if w.name in eager.parameter_grads]
    gradient_error = _difference(
        input_grads
        + [buffers.get(Place("gradients", w.offset), w.value.detach()) for w in trained],
        eager.input_grads + [eager.parameter_grads[w.name] for w in trained],
    )
    for what, error in (
        ("outputs", output_error),
        ("buffers that the forward changes", running_error),
        ("gradients", gradient_error),
    ):
        if not error <= TOLERANCE:
            raise Refusal(
                f"layer '{layer.name}': {what} of its compiled graphs differ from "
                f"PyTorch's by {error:.2g} of the largest, more than {TOLERANCE:g}"
            )
    return Agreement(output_error, gradient_error, (times[0], times[1], times[2]))


@dataclass
class Eager:
    """What PyTorch computes."""

    outputs: list[torch.Tensor]
    #: What its forward has left in the buffers, by their names.
    buffers: dict[str, torch.Tensor]
    #: Those of the outputs, from which the others follow.
    output_grads: list[torch.Tensor]
    input_grads: list[torch.Tensor]
    parameter_grads: dict[str, torch.Tensor]


def _eager(layer: Layer, loss_scale: float) -> Eager:
    inputs = [
        x.detach().clone().requires_grad_(x.is_floating_point() and not layer.is_first)
        for x in layer.inputs
    ]
    values = layer.values()
    with HashedRandom(PROBED):
        outputs = layer.call(values, inputs, layer.targets)
    floats = [x for x in outputs if x.is_floating_point()]
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(x.shape, generator=generator) for x in floats]
    if layer.loss_fn is not None:
        given = [torch.tensor(loss_scale)]
    wanted = [x for x in inputs if x.requires_grad]
    trained = [(n, p) for n, p in layer.parameters if p.requires_grad]
    found = torch.autograd.grad(
        floats, wanted + [p for _, p in trained], given, allow_unused=True
    )
    input_grads = [
        torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found)
    ]
    parameter_grads = {
        name: grad
        for (name, _), grad in zip(trained, found[len(wanted) :])
        if grad is not None
    }
    return Eager(
        [x.detach() for x in outputs],
        {name: values[name].detach() for name, _ in layer.buffers},
        given,
        input_grads,
        parameter_grads,
    )


def _refuse_nan(layer: Layer, eager: Eager) -> None:
    for what, tensors in (
        ("outputs", eager.outputs),
        ("gradients", [*eager.input_grads, *eager.parameter_grads.values()]),
    ):
        if any(bool(torch.isnan(x).any()) for x in tensors):
            raise Refusal(
                f"layer '{layer.name}': {what} that PyTorch computes with the module's "
                "weights have a NaN, so that nothing can be compared: initialise the module"
            )


def _running(body: Body, eager: Eager) -> list[tuple[Weight, torch.Tensor]]:
    return [
        (w, eager.buffers[w.name].float()) for w in body.weights if w.is_running
    ]


def _output_places(layer: Layer, space: str) -> list[Place]:
    region = Region(space)
    return [region.add(x.numel() * x.element_size()) for x in layer.outputs]


def _put_edges(buffers: Buffers, layer: Layer, given: Sequence[torch.Tensor]) -> None:
    for index, tensor in enumerate(layer.data):
        buffers.put(data_place(layer, index), staged(tensor))
    for place, tensor in zip(edge_places(layer, "inputs")[0], layer.inputs):
        buffers.put(place, tensor)
    if layer.loss_fn is None:
        grads = iter(given)
        for place, tensor in zip(_output_places(layer, "output_grad"), layer.outputs):
            if tensor.is_floating_point():
                buffers.put(place, next(grads))


def _outputs(
    buffers: Buffers, layer: Layer, outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    if layer.loss_fn is not None:
        return [buffers.get(Place("loss"), outputs[0])]
    places = _output_places(layer, "output")
    return [buffers.get(p, x) for p, x in zip(places, layer.outputs)]


def _input_grads(buffers: Buffers, layer: Layer) -> list[torch.Tensor]:
    places, _ = edge_places(layer, "input_grads")
    return [
        buffers.get(place, tensor)
        for place, tensor in zip(places, layer.inputs)
        if tensor.is_floating_point()
    ]


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
    # Each comparison with NaN is false, so max() would drop it.
    if any(math.isnan(error) for error in errors):
        return math.nan
    worst = max(errors, default=0.0)
    return worst / most if most > 0 else worst
