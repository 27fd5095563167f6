# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a task, as a part of a joint graph."""

from __future__ import annotations

import torch
from torch.fx import Graph, GraphModule, Node

from .body import Copy, Place, Placed, Task
from .cut import ancestors
from .joint import Joint

_aten = torch.ops.aten
_convert = torch.ops.prims.convert_element_type.default


class TaskGraph:
    """Copies a part of a joint graph. Nodes with a place become placeholders."""

    def __init__(self, joint: Joint, places: dict[Node, Place], wanted: set[Node]):
        self.joint = joint
        self.places = places
        self.graph = Graph()
        self.inputs: list[Placed] = []
        self.copied: dict[Node, Node] = {}
        needed = ancestors(wanted, places)
        reads = {p for n in needed for p in n.all_input_nodes if p in places}
        reads |= {n for n in wanted if n in places}
        order = list(joint.module.graph.nodes)
        for node in (n for n in order if n in reads):
            value = node.meta["val"] if "val" in node.meta else joint.constants[node]
            self.copied[node] = self.placeholder(
                node.name,
                Placed(
                    places[node],
                    tuple(value.shape),
                    _dense_strides(value),
                    value.dtype,
                ),
            )
        for node in (n for n in order if n in needed):
            if node.op == "placeholder":
                raise RuntimeError(f"'{node.name}' is not there when it is read")
            self.copied[node] = self.graph.node_copy(
                node, lambda n: self.copied[n]
            )

    def placeholder(self, name: str, placed: Placed) -> Node:
        """A new input of the graph."""
        # Placeholders come first, whenever they are made.
        node = self.graph.placeholder(f"{name}_")
        self.inputs.append(placed)
        return node

    def dense(self, node: Node) -> Node:
        """The node's copy, without gaps."""
        copy = self.copied[node]
        if _is_dense(node.meta["val"]):
            return copy
        return self.graph.call_function(
            _aten.clone.default, (copy,), {"memory_format": torch.contiguous_format}
        )

    def accumulate(self, old: Node, grad: Node) -> Node:
        """old + grad, as one product if the gradient is one."""
        grad = self._before_rounding(grad)
        product = _product_of(grad)
        # I may have computed it.
        if product is not None and product[0] not in self.places:
            node, is_transposed = product
            a, b = (self.copied[x] for x in node.args[:2])
            if is_transposed:
                a, b = (
                    self.graph.call_function(_aten.permute.default, (x, [1, 0]))
                    for x in (b, a)
                )
            if node.meta["val"].dtype == torch.float32:
                return self.graph.call_function(_aten.addmm.default, (old, a, b))
            return self.graph.call_function(_aten.addmm.dtype, (old, a, b, torch.float32))
        scattered = _scatter_of(grad)
        if scattered is not None and scattered not in self.places:
            indices, values = scattered.args[1], scattered.args[2]
            copied = torch.fx.node.map_arg(indices, lambda n: self.copied[n])
            return self.graph.call_function(
                _aten.index_put.default, (old, copied, self.copied[values], True)
            )
        return self.graph.call_function(
            _aten.add.Tensor, (old, self.copied[grad])
        )

    def _before_rounding(self, grad: Node) -> Node:
        """The fp32 node that a gradient is converted from, or the gradient."""
        while grad not in self.places and grad.target is _convert:
            source = grad.args[0]
            assert isinstance(source, Node)
            if source.meta["val"].dtype != torch.float32:
                break
            grad = source
        return grad

    def finish(
        self, kind: str, results: list[Node], outputs: list[Placed], copies: list[Copy]
    ) -> Task:
        """The task whose graph returns `results`; they lie at `outputs`."""
        # Inputs were placeholders in the order of self.inputs.
        self.graph.output(tuple(results))
        _placeholders_first(self.graph)
        self.graph.eliminate_dead_code()
        module = GraphModule(self.joint.module, self.graph)
        return Task(kind, module, self.inputs, outputs, copies)


def _placeholders_first(graph: Graph) -> None:
    """Moves placeholders before all other nodes, in their order."""
    nodes = list(graph.nodes)
    others = [n for n in nodes if n.op != "placeholder"]
    for node in nodes:
        if node.op == "placeholder":
            others[0].prepend(node)


def _product_of(grad: Node) -> tuple[Node, bool] | None:
    """The product whose result, perhaps transposed, is all that the gradient is."""
    is_transposed = False
    node = grad
    while node.target is _aten.permute.default and len(node.args[1]) == 2:
        if list(node.args[1]) == [1, 0]:
            is_transposed = not is_transposed
        node = node.args[0]
    if node.target is not _aten.mm.default:
        return None
    return node, is_transposed


def _scatter_of(grad: Node) -> Node | None:
    """A sum into zeros, as the gradient of an embedding is."""
    if grad.target is not _aten.index_put.default or len(grad.args) < 4:
        return None
    base = grad.args[0]
    is_zero = (
        isinstance(base, Node)
        and base.target is _aten.full.default
        and base.args[1] == 0
    )
    return grad if is_zero and grad.args[3] is True else None


def _is_dense(value: torch.Tensor) -> bool:
    """Whether each place of its memory is one element."""
    expected = 1
    for stride, size in sorted(zip(value.stride(), value.shape)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _dense_strides(value: torch.Tensor) -> tuple[int, ...]:
    """The value's strides; those of a copy without gaps if it has some."""
    if _is_dense(value):
        return tuple(value.stride())
    return tuple(torch.empty(value.shape, device="meta").stride())


def placed_at(node: Node, place: Place) -> Placed:
    """A node that a graph returns without gaps."""
    value = node.meta["val"]
    return Placed(place, tuple(value.shape), _dense_strides(value), value.dtype)
