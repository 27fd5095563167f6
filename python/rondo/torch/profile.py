# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the stages of a model: times, and the bytes that they keep."""

from __future__ import annotations

import statistics
import time
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence

import torch
from torch.utils._pytree import tree_leaves

from ..problem import (
    Cost,
    Edge,
    GraphStage,
    HostCosts,
    Link,
    Load,
    Problem,
    Rank,
    RankLink,
    Replica,
    Save,
    Stage,
)
from . import private


def profile_stages(
    modules: Sequence[torch.nn.Module],
    placement: Sequence[int],
    example_input: Any,
    loss_fn: Callable[[Any, Any], torch.Tensor],
    target: Any,
    microbatches: int,
    *,
    name: str = "model",
    memory_bytes: int | None = None,
    link: Link | None = None,
    links: list[RankLink] | None = None,
    repeats: int = 5,
    warmup: int = 2,
    fused: bool = False,
    host: HostCosts | None = None,
) -> Problem:
    """A problem with the measured costs of a model's stages.

    `modules` are the stages in order, on the device that will run them, and
    `placement` is the rank of each. `example_input` (a tensor, or a tuple of the
    arguments of the first module) and `target` are of one micro-batch. Times are
    medians of `repeats` runs after `warmup` others. `memory_bytes` caps the
    activations of each rank; `link` and `links` are as in a problem.

    Stage 0 needs no input gradient: all of its backward is W. What I takes and
    frees is netted, since the search knows no task that does both. Parameters are
    not counted, and neither are the inputs of the model. With `fused` the result is
    a rondo-problem/2, in which B has its own measured time, and `parameter_bytes`
    says what is trained. It is less than I's and
    W's together; but a search with it proves no optimum. `host`, of profile_host(),
    lengthens the tasks by what PyTorch's runtime adds, and implies `fused`. The
    modules, their gradients and the random numbers are left as they were.
    """
    if len(modules) != len(placement):
        raise ValueError(f"{len(modules)} modules, but {len(placement)} are placed")
    if repeats < 1 or warmup < 0:
        raise ValueError("there is at least one repeat, and no negative warm-up")
    inputs = example_input if isinstance(example_input, tuple) else (example_input,)
    free = {s for t in tree_leaves((inputs, target)) for s in storages([t])}
    found = []
    with unchanged(modules):
        for index, module in enumerate(modules):
            is_last = index + 1 == len(modules)
            stage = _Stage(
                module, inputs, index == 0, (loss_fn, target) if is_last else None
            )
            figures = stage.measure(repeats, warmup, free)
            found.append(figures)
            inputs = figures.outputs
    cap = [Rank(memory_bytes=memory_bytes) for _ in range(max(placement) + 1)]
    problem = Problem(
        name=name,
        microbatches=microbatches,
        ranks=cap,
        stages=[f.stage(rank) for f, rank in zip(found, placement)],
        link=link,
        links=links,
    )
    if fused or host:
        problem.host = host
        problem.stages = [f.graph_stage(rank) for f, rank in zip(found, placement)]
        problem.edges = [
            f.edge(index) for index, f in enumerate(found) if index + 1 < len(found)
        ]
    return problem


class _Figures:
    """Measured figures of a stage."""

    def __init__(
        self, ns: dict[str, int], held: int, freed: int, outputs: Any, trained: int
    ):
        self.ns, self.held, self.freed, self.outputs = ns, held, freed, outputs
        self.trained = trained

    def bytes(self, only_gradients: bool = False) -> int:
        return sum(
            t.numel() * t.element_size()
            for t in self.outputs
            if t.requires_grad or not only_gradients
        )

    def stage(self, rank: int) -> Stage:
        return Stage(
            rank=rank,
            forward_ns=self.ns["F"],
            input_grad_ns=self.ns["I"],
            weight_grad_ns=self.ns["W"],
            activation_bytes=self.held,
            input_grad_frees_bytes=self.freed,
            output_bytes=self.bytes(),
        )

    def graph_stage(self, rank: int) -> GraphStage:
        costs: dict[str, Cost | Load | Save] = {
            "F": Cost(ns=self.ns["F"], takes_bytes=self.held),
            "I": Cost(ns=self.ns["I"], frees_bytes=self.freed),
            "W": Cost(ns=self.ns["W"], frees_bytes=self.held - self.freed),
            "B": Cost(ns=self.ns["B"], frees_bytes=self.held),
        }
        return GraphStage(
            replicas=[Replica(rank=rank)], costs=costs, parameter_bytes=self.trained
        )

    def edge(self, index: int) -> Edge:
        back = self.bytes(only_gradients=True)
        return Edge(
            from_stage=index,
            to_stage=index + 1,
            bytes=self.bytes(),
            gradient_bytes="same" if back == self.bytes() else back or None,
        )


class _Stage:
    """One stage, which can be run task by task."""

    def __init__(self, module: Any, inputs: Any, is_first: bool, loss: Any):
        self.module, self.inputs, self.is_first, self.loss = (
            module,
            inputs,
            is_first,
            loss,
        )
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.device = next(
            (t.device for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)),
            torch.device("cpu"),
        )

    def forward(self) -> tuple[list[Any], tuple[Any, ...], Any]:
        """Inputs, outputs, and where the backward begins."""
        inputs = [
            t
            if self.is_first or not isinstance(t, torch.Tensor)
            else t.detach().requires_grad_(t.is_floating_point())
            for t in self.inputs
        ]
        output = self.module(*inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        if self.loss:
            loss_fn, target = self.loss
            return inputs, outputs, loss_fn(output, target)
        return inputs, outputs, outputs

    def output_grads(self, outputs: tuple[Any, ...]) -> list[Any] | None:
        if self.loss:
            return None
        return [torch.ones_like(t) if t.requires_grad else None for t in outputs]

    def split(self, root: Any, grads: Any, inputs: list[Any]) -> list[dict[str, Any]]:
        roots = (root,) if self.loss else root
        return private.input_gradients(roots, grads, inputs, self.parameters)

    def clock(self) -> int:
        if self.device.type != "cpu":
            getattr(torch, self.device.type).synchronize(self.device)
        return time.perf_counter_ns()

    def times(self) -> dict[str, int]:
        """Nanoseconds of each task, once."""
        found = {"I": 0}
        begin = self.clock()
        inputs, outputs, root = self.forward()
        found["F"] = self.clock() - begin
        grads = self.output_grads(outputs)
        begin = self.clock()
        private.all_gradients(root, grads, inputs)
        found["B"] = found["W"] = self.clock() - begin
        if self.is_first:
            return found
        inputs, outputs, root = self.forward()
        grads = self.output_grads(outputs)
        begin = self.clock()
        groups = self.split(root, grads, inputs)
        middle = self.clock()
        private.weight_gradients(self.parameters, groups)
        found["W"] = self.clock() - middle
        found["I"] = middle - begin
        return found

    def measure(self, repeats: int, warmup: int, free: set[Any]) -> _Figures:
        for _ in range(warmup):
            self.times()
        runs = [self.times() for _ in range(repeats)]
        ns = {kind: round(statistics.median(r[kind] for r in runs)) for kind in runs[0]}
        held, freed, outputs = self.memory(free)
        trained = sum(p.numel() * p.element_size() for p in self.parameters)
        return _Figures(ns, held, freed, outputs, trained)

    def memory(self, free: set[Any]) -> tuple[int, int, Any]:
        """Bytes from F to W, those that I frees, and outputs for the next stage. Each
        storage counts once, if it is not a parameter's, a buffer's or in `free`."""
        unseen = set(free)
        for tensors in (self.module.parameters(), self.module.buffers()):
            unseen |= storages(tensors).keys()
        saved: list[weakref.ref[_Saved]] = []

        def pack(tensor: torch.Tensor) -> _Saved:
            found = _Saved(tensor)
            saved.append(weakref.ref(found))
            return found

        def held(*others: Any) -> int:
            alive = [ref() for ref in saved]
            tensors = [a.tensor for a in alive if a is not None]
            found = storages([*tensors, *tree_leaves(others)])
            return sum(size for key, size in found.items() if key not in unseen)

        with torch.autograd.graph.saved_tensors_hooks(pack, _Saved.unpack):
            inputs, outputs, root = self.forward()
            mine = [] if self.is_first else inputs
            all_bytes = held(mine, outputs)
            # From here on only values are kept, not the graph.
            passed = tuple(
                t.detach().requires_grad_(t.requires_grad)
                if isinstance(t, torch.Tensor)
                else t
                for t in outputs
            )
            if self.is_first:
                return all_bytes, 0, passed
            grads = self.output_grads(outputs)
            groups = self.split(root, grads, inputs)
            del root
            back = [t.grad for t in inputs if isinstance(t, torch.Tensor)]
            kept = private.gradients_held(groups)
            rest = held(mine, outputs, grads, back, kept)
            private.weight_gradients(self.parameters, groups)
        return all_bytes, max(0, all_bytes - rest), passed


class _Saved:
    """A tensor that the graph keeps. It is detached, so that a node which keeps its
    own output is in no cycle."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor.detach()

    def unpack(self) -> torch.Tensor:
        return self.tensor


def storages(tensors: Any) -> dict[Any, int]:
    """Bytes by storage."""
    found = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                found[str(tensor.device), storage.data_ptr()] = storage.nbytes()
    return found


@contextmanager
def unchanged(modules: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Leaves gradients, buffers and random numbers as they were."""
    grads = [(p, p.grad) for m in modules for p in m.parameters()]
    buffers = [(b, b.detach().clone()) for m in modules for b in m.buffers()]
    for parameter, _ in grads:
        parameter.grad = None
    try:
        with torch.random.fork_rng():
            yield
    finally:
        for parameter, grad in grads:
            parameter.grad = grad
        with torch.no_grad():
            for buffer, old in buffers:
                buffer.copy_(old)
