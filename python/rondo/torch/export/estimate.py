# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Estimates the time of a task on a GPU, for exports on machines without one."""

from __future__ import annotations

import math

import torch
from torch.fx import Node

from . import private
from .attention import BACKWARD, FORWARD
from .body import Task
from .compile import examples
from .gpus import GPUS
from .target import Target

_aten = torch.ops.aten
#: Operations that are kernels of their own: what they read and write is in memory.
_PRODUCTS = (_aten.mm, _aten.addmm, _aten.bmm, _aten.baddbmm)


def estimated_ns(task: Task, target: Target) -> int:
    """The time of all products at the GPU's rate, and of all bytes that products and
    the graph read and write at its bandwidth, both of the data sheet."""
    gpu = GPUS[target.capability]
    rate = gpu.tensor_tflops if target.has_copies else gpu.fp32_tflops
    if task.module is not None:
        private.add_shapes(task.module, examples(task))
    flops = 0
    moved = sum(p.nbytes for p in (*task.inputs, *task.outputs))
    for node in task.module.graph.nodes if task.module is not None else ():
        count = _flops(node)
        if count:
            flops += count
            moved += sum(_nbytes(n) for n in (node, *node.all_input_nodes))
    moved += sum(copy.nbytes for copy in task.copies)
    return math.ceil(flops / (rate * 1e3) + moved / gpu.bandwidth)


def _flops(node: Node) -> int:
    if node.target in (FORWARD, BACKWARD):
        at = 0 if node.target is FORWARD else 1
        query, key = (node.args[at + i].meta["val"] for i in (0, 1))
        products = 2 if node.target is FORWARD else 5
        # Half of the scores are masked.
        return products * int(query.numel()) * int(key.shape[-2])
    if getattr(node.target, "overloadpacket", None) not in _PRODUCTS:
        return 0
    a, b = [x for x in node.args if isinstance(x, Node)][-2:]
    return 2 * int(a.meta["val"].numel()) * int(b.meta["val"].shape[-1])


def _nbytes(node: Node) -> int:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
