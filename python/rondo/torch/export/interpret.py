# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the graphs of tasks in PyTorch, on the CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Interpreter, Node

from . import random_numbers
from .body import Body, Place, Placed, Region, Task
from .check import Buffers, Runner
from .estimate import estimated_ns
from .layer import Layer
from .library import PROBED

_aten = torch.ops.aten


class GraphRunner(Runner):
    """Runs tasks before they are compiled: finds what is wrong with the graphs and the
    places of their tensors, but not what kernels do."""

    def __init__(self, body: Body, layer: Layer):
        self.layer = layer
        self.tasks = {task.kind: task for task in body.tasks}
        # It has no other places.
        self.tasks["W_copied"] = self.tasks["W"]
        self.constants: dict[Place, torch.Tensor] = {}
        region = Region("constants")
        for tensor in body.constants:
            self.constants[region.add(tensor.nbytes)] = tensor

    def run(self, buffers: Buffers, kind: str, loss_scale: float) -> None:
        task = self.tasks[kind]
        if task.module is not None:
            inputs = [self._read(buffers, p, loss_scale) for p in task.inputs]
            with torch.no_grad():
                results = _Interpreter(task.module).run(*inputs)
            for placed, result in zip(task.outputs, results):
                buffers.put_placed(placed, result)
        for copy in task.copies:
            to = buffers.values[copy.to.space, copy.to.index][copy.to.offset :]
            if copy.source is None:
                to[: copy.nbytes].zero_()
            else:
                source = buffers.values[copy.source.space, copy.source.index]
                to[: copy.nbytes].copy_(source[copy.source.offset :][: copy.nbytes])

    def _read(self, buffers: Buffers, placed: Placed, loss_scale: float) -> torch.Tensor:
        space = placed.place.space
        if space == "loss_scale":
            return torch.tensor(loss_scale)
        if space == "random_key":
            return random_numbers.key(PROBED, 0, 0, 0)
        if space == "constants":
            return self.constants[placed.place]
        return buffers.get_placed(placed)

    def measure(self, buffers: Buffers, kind: str) -> int:
        return estimated_ns(self.tasks[kind], self.layer.target)


class _Interpreter(Interpreter):
    """With products that only a GPU has."""

    def run_node(self, n: Node) -> Any:
        if n.target is _aten.addmm.dtype:
            addend, a, b = self.fetch_args_kwargs_from_env(n)[0][:3]
            return torch.addmm(addend, a.float(), b.float())
        return super().run_node(n)
