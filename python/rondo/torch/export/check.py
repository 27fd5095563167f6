# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the tasks of a layer with PyTorch's eager execution."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

import torch

from .body import Body, Place, Placed, Region, Weight, data_place, edge_places
from .layer import Layer, staged
from .library import PROBED
from .probe import ProbeMemory, bytes_of
from .random_numbers import HashedRandom
from .refusal import Refusal

#: A tensor's largest value counts as at least this part of the layer's: gradients that
#: are 0 in truth, as of the biases of keys, are sums of rounding errors.
FLOOR = 0.1


@dataclass
class Difference:
    """How far tensors are from others: the most relative to the largest of all, and
    the most relative to a tensor's own largest, or FLOOR of that of all."""

    of_all: float
    of_own: float


@dataclass
class Agreement:
    """How far a layer's tasks are from eager execution."""

    output: Difference
    gradient: Difference
    #: The same for gradients of fp64, of eager ones and of the tasks'; None: the layer
    #: does not run in fp64.
    rounding: tuple[float, float] | None
    #: Medians of F, I and W, in ns.
    times: tuple[int, int, int]
    #: What eager execution keeps for the backward, without parameters and buffers.
    eager_saved_bytes: int
    #: Whether B gives the bits of I and then W; None: there is no B.
    backward_is_equal: bool | None


class Buffers:
    """The buffers of a layer's tasks, which a probe reads and writes."""

    def __init__(self, body: Body, layer: Layer):
        sizes = {
            ("weights", 0): body.weight_bytes,
            ("gradients", 0): body.weight_bytes - body.frozen_weight_bytes,
            ("kept_for_weight_grad", 0): body.kept_for_weight_grad_bytes,
            ("output", 0): body.output_bytes,
            ("output_grad", 0): body.output_bytes,
            ("workspace", 0): max(body.workspace_bytes, body.backward_workspace_bytes),
            ("loss", 0): 4 if layer.loss_fn is not None else 0,
        }
        if layer.target.has_copies:
            count = body.weight_bytes // 4
            sizes["weights_in_dtype", 0] = count * layer.target.dtype.itemsize
        for index, part in enumerate(body.parts):
            sizes["saved", index] = part.nbytes
        for index, tensor in enumerate(layer.data):
            place = data_place(layer, index)
            sizes[place.space, place.index] = staged(tensor).nbytes
        for space in ("inputs", "input_grads"):
            for index, size in enumerate(edge_places(layer, space)[1]):
                sizes[space, index] = size
        lines = [f"{name} {index} {size}" for (name, index), size in sizes.items()]
        self.memory = ProbeMemory(lines, list(sizes.values()))
        self.values = dict(zip(sizes, self.memory.contents))
        # A byte that nothing writes stays part of a NaN, which the comparison finds.
        self.forget(*{space for space, _ in sizes})

    def put(self, place: Place, tensor: torch.Tensor) -> None:
        raw = bytes_of(tensor)
        self.values[place.space, place.index][place.offset :][: len(raw)].copy_(raw)

    def get(self, place: Place, like: torch.Tensor) -> torch.Tensor:
        size = like.numel() * like.element_size()
        memory = self.values[place.space, place.index]
        raw = memory[place.offset : place.offset + size].clone()
        return raw.view(like.dtype).reshape(like.shape)

    def put_placed(self, placed: Placed, tensor: torch.Tensor) -> None:
        """As the graph has it, with its strides."""
        self._strided(placed).copy_(tensor)

    def get_placed(self, placed: Placed) -> torch.Tensor:
        return self._strided(placed).clone()

    def _strided(self, placed: Placed) -> torch.Tensor:
        memory = self.values[placed.place.space, placed.place.index]
        raw = memory[placed.place.offset :][: placed.nbytes].view(placed.dtype)
        return raw.as_strided(placed.shape, placed.strides)

    def put_weight(self, weight: Weight, layer: Layer) -> None:
        value = weight.value.float()
        self.put(Place("weights", weight.offset), value)
        if layer.target.has_copies:
            dtype = layer.target.dtype
            offset = weight.offset // 4 * dtype.itemsize
            self.put(Place("weights_in_dtype", offset), value.to(dtype))

    def copy(self) -> dict[tuple[str, int], torch.Tensor]:
        return {buffer: content.clone() for buffer, content in self.values.items()}

    def restore(self, values: dict[tuple[str, int], torch.Tensor]) -> None:
        for buffer, content in values.items():
            self.values[buffer].copy_(content)

    def forget(self, *spaces: str) -> None:
        """What a task may not read."""
        for (space, _), content in self.values.items():
            if space in spaces:
                content.fill_(0xFF)

    def parts(self, body: Body, reader: str) -> list[tuple[str, int]]:
        """The parts of what F saves that only I, only W, or both read."""
        return [
            ("saved", index)
            for index, part in enumerate(body.parts)
            if part.read_by == reader
        ]

    def forget_parts(self, body: Body, reader: str) -> None:
        for part in self.parts(body, reader):
            self.values[part].fill_(0xFF)


class Runner:
    """Runs tasks of a layer on buffers."""

    def run(self, buffers: Buffers, kind: str, loss_scale: float) -> None:
        raise NotImplementedError

    def measure(self, buffers: Buffers, kind: str) -> int:
        """The time in ns of a task on the buffers that its last run left."""
        raise NotImplementedError


class ProbeRunner(Runner):
    """Runs the compiled graphs of the body `name` by a probe."""

    def __init__(self, probe: Path, name: str):
        self.probe = probe
        self.name = name

    def run(self, buffers: Buffers, kind: str, loss_scale: float) -> None:
        what = f"{self.name} {kind}"
        buffers.memory.run(self.probe, "run", what, str(loss_scale))

    def measure(self, buffers: Buffers, kind: str) -> int:
        what = f"{self.name} {kind}"
        times = buffers.memory.run(self.probe, "time", what, "1", "7").split()
        # The first runs load the graph and touch memory.
        return int(statistics.median([int(n) for n in times][2:]))


def check_layer(layer: Layer, body: Body, runner: Runner) -> Agreement:
    """Runs F, I and W, and compares outputs and gradients with eager ones; and B with
    I and W. W runs a second time with gradients that do not lie in place, and must give
    the same bits. Raises Refusal where they differ by more than the target's tolerance."""
    loss_scale = 0.25

    def run(kind: str) -> None:
        buffers.forget("workspace")
        runner.run(buffers, kind, loss_scale)

    eager = _eager(layer, loss_scale)
    _refuse_nan(layer, eager)
    buffers = Buffers(body, layer)
    for weight in body.weights:
        buffers.put_weight(weight, layer)
    _put_edges(buffers, layer, eager.output_grads)
    gradients = "gradients", 0
    buffers.values[gradients].zero_()
    run("F")
    times = [runner.measure(buffers, "F")]
    outputs = _outputs(buffers, layer, eager.outputs)
    running = [w for w in body.weights if w.is_running]
    changed = [buffers.get(Place("weights", w.offset), w.value.float()) for w in running]
    # Inputs and outputs may be gone when I runs, what I reads when W does.
    buffers.forget("inputs", "output", "data", "streams")
    after_forward = buffers.copy()
    buffers.forget_parts(body, "weight_grad")
    run("I")
    results = buffers.copy()
    input_grads = _input_grads(buffers, layer)
    times.append(runner.measure(buffers, "I"))
    for part in buffers.parts(body, "weight_grad"):
        if not bool((buffers.values[part] == 0xFF).all()):
            raise Refusal(
                f"I of layer '{layer.name}' writes to part '{body.parts[part[1]].name}' of "
                "what F saves, which W alone reads: please report this"
            )
        buffers.values[part].copy_(after_forward[part])
    # W finds them as I has left them.
    buffers.restore({part: results[part] for part in buffers.parts(body, "both")})
    buffers.forget("output_grad", "input_grads")
    buffers.forget_parts(body, "input_grad")
    results[gradients] = _weight_grads(buffers, layer, run)
    times.append(runner.measure(buffers, "W"))
    is_equal = None
    if any(task.kind == "B" for task in body.tasks):
        buffers.restore(after_forward)
        run("B")
        is_equal = all(
            torch.equal(buffers.values[buffer], content)
            for buffer, content in results.items()
            if buffer[0] in ("gradients", "input_grads")
        )
    buffers.memory.close()
    buffers.restore({gradients: results[gradients]})
    trained = [w for w in body.weights if w.name in eager.parameter_grads]
    output_error = differences(outputs, eager.outputs)
    found = input_grads + [
        buffers.get(Place("gradients", w.offset), w.value.detach()) for w in trained
    ]
    names = [w.name for w in trained]
    wanted = eager.gradients(names)
    gradient_error = differences(found, wanted)
    _refuse_difference(layer, "outputs", output_error)
    for weight, value in zip(running, changed):
        error = differences([value], [eager.buffers[weight.name].float()])
        _refuse_difference(layer, f"values of buffer '{weight.name}'", error)
    of_tasks = times[0], times[1], times[2]
    rounding = None
    allowed = 0.0
    exact = _exact_gradients(layer, loss_scale, names)
    if exact is not None:
        of_eager = differences(wanted, exact)
        rounding = of_eager.of_all, differences(found, exact).of_all
        if layer.target.has_copies:
            # In bf16 sums that are 0 in truth differ by more.
            allowed = 2 * of_eager.of_own
    _refuse_difference(layer, "gradients", gradient_error, allowed)
    return Agreement(
        output_error, gradient_error, rounding, of_tasks, eager.saved_bytes, is_equal
    )


def _exact_gradients(
    layer: Layer, loss_scale: float, names: Sequence[str]
) -> list[torch.Tensor] | None:
    """Those of fp64; None if a module has constants or conversions of fp32."""
    try:
        return _eager(layer, loss_scale, torch.float64).gradients(names)
    except RuntimeError:
        return None


def _weight_grads(
    buffers: Buffers, layer: Layer, run: Callable[[str], None]
) -> torch.Tensor:
    """Gradients after a run of W. Refuses those that have other bits in place."""
    gradients = "gradients", 0
    before = buffers.copy()
    run("W")
    run("W")
    twice = buffers.values[gradients].clone()
    buffers.restore(before)
    run("W_copied")
    once = buffers.values[gradients].clone()
    run("W_copied")
    if not torch.equal(twice, buffers.values[gradients]):
        raise Refusal(
            f"layer '{layer.name}': gradients differ when W writes them in place"
        )
    return once


def _refuse_difference(
    layer: Layer, what: str, error: Difference, allowed: float = 0.0
) -> None:
    tolerance = max(layer.target.tolerance, allowed)
    if not error.of_own <= tolerance:
        raise Refusal(
            f"layer '{layer.name}': {what} of its compiled graphs differ from "
            f"PyTorch's by {error.of_own:.2g} of a tensor's largest, more than "
            f"{tolerance:g}"
        )


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
    #: What the forward keeps for the backward, without parameters and buffers.
    saved_bytes: int

    def gradients(self, names: Sequence[str]) -> list[torch.Tensor]:
        """Of the inputs, and of these parameters."""
        return self.input_grads + [self.parameter_grads[name] for name in names]


def _eager(
    layer: Layer, loss_scale: float, dtype: torch.dtype = torch.float32
) -> Eager:
    """Outputs and gradients, with fp32 converted to `dtype`."""

    def converted(x: torch.Tensor) -> torch.Tensor:
        return x.detach().to(dtype) if x.is_floating_point() else x.detach()

    inputs = [
        converted(x).clone().requires_grad_(x.is_floating_point() and not layer.is_first)
        for x in layer.inputs
    ]
    values = layer.values()
    if dtype != torch.float32:
        values = {
            name: converted(x).requires_grad_(x.requires_grad)
            for name, x in values.items()
        }
    own = {tensor.untyped_storage().data_ptr() for tensor in values.values()}
    # Held, so that no two have the same address.
    saved: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.detach())
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with HashedRandom(PROBED), hooks:
        outputs = layer.call(values, inputs, layer.targets)
    memory = {s.data_ptr(): s.nbytes() for s in (t.untyped_storage() for t in saved)}
    floats = [x for x in outputs if x.is_floating_point()]
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(x.shape, generator=generator).to(x.dtype) for x in floats]
    if layer.loss_fn is not None:
        given = [torch.tensor(loss_scale, dtype=floats[0].dtype)]
    wanted = [x for x in inputs if x.requires_grad]
    trained = [(n, values[n]) for n, p in layer.parameters if p.requires_grad]
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
        sum(size for place, size in memory.items() if place not in own),
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


def differences(
    found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> Difference:
    """The largest differences; NaN if a tensor has one."""
    pairs = [(f.double(), e.double()) for f, e in zip(found, expected) if e.numel()]
    errors = [float((f - e).abs().max()) for f, e in pairs]
    # Each comparison with NaN is false, so max() would drop it.
    if any(math.isnan(error) for error in errors):
        return Difference(math.nan, math.nan)
    sizes = [float(e.abs().max()) for _, e in pairs]
    most = max(sizes, default=0.0)
    if most == 0:
        return Difference(*[max(errors, default=0.0)] * 2)
    own = [error / max(size, FLOOR * most) for error, size in zip(errors, sizes)]
    return Difference(max(errors) / most, max(own))
