# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses what a layer keeps from F to I and W: minimum cuts of its joint graph.

Only cheap operations are computed again, and only if the bytes that this saves are
worth their time; after "Training Deep Nets with Sublinear
Memory Cost" (Chen et al. 2016) and the rematerialisation of JAX and PyTorch, as a
minimum cut, and once more between I and W.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Collection, Iterable

import networkx
import torch
from torch.fx import Node

from .joint import Joint
from .refusal import Refusal

_aten = torch.ops.aten

#: Operations that only change how a tensor's memory is read.
_VIEWS = frozenset(
    {
        _aten.view.default,
        _aten._unsafe_view.default,
        _aten.permute.default,
        _aten.transpose.int,
        _aten.t.default,
        _aten.expand.default,
        _aten.squeeze.dim,
        _aten.squeeze.dims,
        _aten.squeeze.default,
        _aten.unsqueeze.default,
        _aten.slice.Tensor,
        _aten.select.int,
        _aten.split.Tensor,
        _aten.split_with_sizes.default,
        _aten.unbind.int,
        _aten.alias.default,
        _aten.detach.default,
        _aten.as_strided.default,
        _aten.diagonal.default,
        operator.getitem,
    }
)
_CHEAP = frozenset(
    {
        _aten.full.default,
        _aten.full_like.default,
        _aten.zeros.default,
        _aten.ones.default,
        _aten.arange.default,
        _aten.arange.start_step,
        _aten.scalar_tensor.default,
        _aten.scatter.value,
        _aten.clone.default,
        torch.ops.prims.convert_element_type.default,
        torch.ops.prims.iota.default,
    }
)


def _packets(names: str) -> frozenset[Any]:
    return frozenset(getattr(_aten, name) for name in names.split())


_ELEMENTARY = _packets(
    "acos acosh asin asinh atan atan2 atanh cos cosh digamma erf erfc erfinv exp exp2 "
    "expm1 fmod gelu lgamma log log10 log1p log2 pow remainder sigmoid silu sin sinh "
    "softplus tan tanh"
)
_SLOW = _packets("div reciprocal rsqrt sqrt")

# Nanoseconds an element on one core with AVX-512, inside a loop of torch.compile that
# computes more. Constants, since the same model must give the same graphs in each export.
ELEMENTARY_NS = 1.0
#: Of division and roots, and of numbers of 64 bits.
SLOW_NS = 0.2
SIMPLE_NS = 0.02

#: The default of `recompute`.
RECOMPUTE = 500.0


def is_view(node: Node) -> bool:
    """Whether the node's value lies in memory of another node."""
    if node.target is operator.getitem:
        # A part of what an operation returns; or of a view.
        return is_view(node.all_input_nodes[0])
    return node.target in _VIEWS


def is_cheap(node: Node) -> bool:
    """Whether the node may be computed again, within a loop over its elements."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem or node.target in _VIEWS:
        return True
    if node.target in _CHEAP:
        return True
    return torch.Tag.pointwise in getattr(node.target, "tags", ())


def bytes_of(node: Node) -> float:
    """What it takes to keep a node's value; infinite for several at once."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return float("inf")
    return value.numel() * value.element_size()


def time_of(node: Node) -> float:
    """Nanoseconds to compute a cheap node again."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or is_view(node) or node.target in _CHEAP:
        return 0
    packet = getattr(node.target, "overloadpacket", None)
    if packet in _ELEMENTARY:
        return value.numel() * ELEMENTARY_NS
    if packet in _SLOW or value.dtype in (torch.int64, torch.float64):
        return value.numel() * SLOW_NS
    return value.numel() * SIMPLE_NS


@dataclass
class Kept:
    """What tasks keep for later ones. A value is in one of the three."""

    #: From F to I.
    forward_to_input_grad: list[Node]
    #: From F to W.
    forward_to_weight_grad: list[Node]
    #: From I to W.
    input_grad_to_weight_grad: list[Node]


def ancestors(
    nodes: Iterable[Node], stop: Collection[Node] = frozenset()
) -> set[Node]:
    """The nodes and all that they are computed from, but not beyond `stop`."""
    found: set[Node] = set()
    open_nodes = [n for n in nodes if n not in stop]
    while open_nodes:
        node = open_nodes.pop()
        if node in found:
            continue
        found.add(node)
        open_nodes += [n for n in node.all_input_nodes if n not in stop]
    return found


def descendants(nodes: Iterable[Node]) -> set[Node]:
    """The nodes and all that depends on them."""
    found: set[Node] = set()
    open_nodes = list(nodes)
    while open_nodes:
        node = open_nodes.pop()
        if node not in found:
            found.add(node)
            open_nodes += node.users
    return found


def minimum_cut(
    nodes: set[Node],
    cost: Callable[[Node], float],
    again: Callable[[Node], float],
    needed: set[Node],
    results: Iterable[Node] = (),
) -> set[Node]:
    """Values to keep, so that the operands of `needed`, and the `results`, follow from
    them.

    `cost` is what it takes to keep a node, `again` to compute it after the cut: 0 if
    it is not computed before, infinite if it must not be. Their sum over what is kept
    and what is computed is the least. O(nodes) vertices, one maximum flow.
    """
    graph = networkx.DiGraph()

    def connect(begin: Any, end: Any, capacity: float) -> None:
        # networkx takes an edge without a capacity for an infinite one.
        if capacity == float("inf"):
            graph.add_edge(begin, end)
        else:
            graph.add_edge(begin, end, capacity=capacity)

    graph.add_nodes_from(("source", "sink"))
    for node in nodes:
        connect((node, "in"), (node, "out"), cost(node))
        if (price := again(node)) > 0:
            connect("source", (node, "in"), price)
        if node in needed:
            connect((node, "in"), "sink", float("inf"))
        for user in node.users:
            if user in nodes:
                connect((node, "out"), (user, "in"), float("inf"))
    for node in results:
        connect((node, "out"), "sink", float("inf"))
    try:
        _, (before, _) = networkx.minimum_cut(graph, "source", "sink")
    except networkx.NetworkXUnbounded:
        several = [n for n in nodes if not is_view(n) and bytes_of(n) == float("inf")]
        raise Refusal(
            "an operation computes gradients of inputs and of parameters at once, and "
            f"one of these cannot do it in two parts: {', '.join(map(str, several))}"
        ) from None
    return {n for n in nodes if (n, "in") in before and (n, "out") not in before}


def choose_kept(joint: Joint, recompute: float) -> Kept:
    """What F keeps for I and W, and I for W. Operations are computed again if that
    takes at most `recompute` nanoseconds for each KiB less."""
    parameter_grads = [g for g in joint.parameter_grads if g is not None]
    input_grads = [g for g in joint.input_grads if g is not None]
    free = {*joint.parameters, *joint.constants}
    # A loss is scaled by one number, which every task gets.
    free |= {t for t in joint.tangents if t.meta["val"].dim() == 0}
    if joint.key is not None:
        free.add(joint.key)
    backward = descendants(joint.tangents)
    backward |= set(parameter_grads) | set(input_grads)

    def cost(node: Node) -> float:
        if node in free:
            return 0
        return float("inf") if is_view(node) else bytes_of(node)

    def again(node: Node, done: Collection[Node]) -> float:
        """In bytes, if `done` has the nodes that are computed before the cut."""
        if not is_cheap(node):
            return float("inf")
        time = time_of(node) if node in done else 0
        if time == 0 or recompute == float("inf"):
            return 0
        # Whole numbers, whose sums are exact.
        return float("inf") if recompute == 0 else round(1024 * time / recompute)

    everything = ancestors(parameter_grads + input_grads)
    of_forward = ancestors([*joint.outputs, *(new for _, new in joint.running)])
    kept = minimum_cut(
        everything,
        cost,
        lambda n: 0 if n in backward else again(n, of_forward),
        {n for n in everything if n in backward and n not in joint.tangents},
    )
    kept = {n for n in kept if n not in free}

    # Now what I computes, and what is left for W.
    of_input_grad = ancestors(input_grads, kept)
    of_weight_grad = ancestors(parameter_grads, kept)
    begin = kept | set(joint.tangents)
    rest = of_weight_grad - of_input_grad - free - begin
    area = of_weight_grad | kept
    for_weight_grad = minimum_cut(
        area,
        cost,
        lambda n: float("inf")
        if n in begin or n in free
        else again(n, of_input_grad)
        if n in of_input_grad
        else 0,
        {n for n in rest if n in backward or not is_cheap(n)},
        # Such as the sums of a normalisation over samples.
        {g for g in parameter_grads if g in of_input_grad},
    )
    for_weight_grad = {n for n in for_weight_grad if n not in free}
    order = {n: i for i, n in enumerate(joint.module.graph.nodes)}
    in_order = sorted(kept | for_weight_grad, key=order.__getitem__)
    return Kept(
        [n for n in in_order if n not in for_weight_grad],
        [n for n in in_order if n in for_weight_grad and n in kept],
        [n for n in in_order if n in for_weight_grad and n not in kept],
    )
