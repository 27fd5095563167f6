# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers as a function of a key, of the operation and of the element.

A compiled graph draws no numbers: it computes them, so that I and W find the same
ones as F, and every schedule the same as any other. Nothing is kept for that.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import torch
from torch.fx import GraphModule, Node
from torch.utils._python_dispatch import TorchDispatchMode

from . import private

_aten = torch.ops.aten
_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1


def _scramble(x: torch.Tensor) -> torch.Tensor:
    """32 bits in int64, scrambled by lowbias32 (Wellons 2018); no product overflows."""
    x = x ^ torch.bitwise_right_shift(x, 16)
    x = x * 0x7FEB352D & _MASK32
    x = x ^ torch.bitwise_right_shift(x, 15)
    # 0x846CA68B modulo 2^32.
    x = x * -0x7B935975 & _MASK32
    return x ^ torch.bitwise_right_shift(x, 16)


def uniform(key: torch.Tensor, operation: int, size: Sequence[int]) -> torch.Tensor:
    """Numbers in [0, 1), multiples of 2^-24. `key` is one int64."""
    low, high = key & _MASK32, torch.bitwise_right_shift(key, 32) & _MASK32
    element = torch.arange(math.prod(size), dtype=torch.int64)
    x = _scramble(element + low & _MASK32)
    x = _scramble((x ^ high) + operation & _MASK32)
    return (torch.bitwise_right_shift(x, 8).float() * 2.0**-24).reshape(size)


def _mix(key: int, counter: int) -> int:
    """As in runtime/base/random.h."""

    def scramble(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK64
        return z ^ z >> 31

    step = 0x9E3779B97F4A7C15
    return scramble(scramble(key + step & _MASK64) + (counter + 1) * step & _MASK64)


def key(layer: str, seed: int, iteration: int, microbatch: int) -> torch.Tensor:
    """The key of a task, as in runtime/torch/run_task.cpp."""
    key = 0xCBF29CE484222325
    for byte in layer.encode():
        key = (key ^ byte) * 0x100000001B3 & _MASK64
    for counter in (seed, iteration, microbatch):
        key = _mix(key, counter)
    return torch.tensor([key - (1 << 64) if key >> 63 else key])


_COMPARISONS = (_aten.gt, _aten.ge, _aten.lt, _aten.le)
_VIEWS = (_aten.permute, _aten.view, _aten.clone, _aten.unsqueeze)


def _is_hashed(node: Node) -> bool:
    """Whether numbers in fp32 can take the place of what the node draws."""
    if node.target is not _aten.rand.default:
        return False
    dtype = node.kwargs.get("dtype")
    return dtype in (None, torch.float32) or (
        dtype == torch.bfloat16 and _is_only_compared(node)
    )


def _is_only_compared(node: Node) -> bool:
    """Whether no result has the numbers themselves, as in dropout."""
    packets = [(getattr(u.target, "overloadpacket", None), u) for u in node.users]
    return all(
        packet in _COMPARISONS or (packet in _VIEWS and _is_only_compared(user))
        for packet, user in packets
    )


def _widen(node: Node) -> None:
    """Says of views of numbers that they are in fp32."""
    for user in node.users:
        if getattr(user.target, "overloadpacket", None) in _VIEWS:
            user.meta["val"] = user.meta["val"].float()
            _widen(user)


def hash_random_numbers(module: GraphModule) -> Node | None:
    """Replaces operations that draw uniform fp32 numbers; returns the placeholder of
    the key, which comes last, or None if there are none."""
    graph = module.graph
    draws = [node for node in graph.nodes if _is_hashed(node)]
    if not draws:
        return None
    last = [node for node in graph.nodes if node.op == "placeholder"][-1]
    with graph.inserting_after(last):
        key = graph.placeholder("random_key")
    mode = draws[0].meta["val"].fake_mode
    key.meta["val"] = mode.from_tensor(torch.zeros(1, dtype=torch.int64))
    for operation, node in enumerate(draws):
        size = node.args[0]
        hashed = private.graph_of(
            lambda k: uniform(k, operation, size), [key.meta["val"]]
        )
        begin = next(n for n in hashed.graph.nodes if n.op == "placeholder")
        with graph.inserting_before(node):
            numbers = graph.graph_copy(hashed.graph, {begin: key})
        if node.kwargs.get("dtype") == torch.bfloat16:
            _widen(node)
        node.replace_all_uses_with(numbers)
        graph.erase_node(node)
    graph.lint()
    module.recompile()
    return key


class HashedRandom(TorchDispatchMode):
    """Within it, eager execution of a layer draws the numbers of a program's task."""

    def __init__(
        self, layer: str, *, seed: int = 0, iteration: int = 0, microbatch: int = 0
    ):
        super().__init__()
        self.key = key(layer, seed, iteration, microbatch)
        self.operations = 0

    def _draw(self, size: Sequence[int]) -> torch.Tensor:
        self.operations += 1
        return uniform(self.key, self.operations - 1, size)

    def _draw_like(self, tensor: torch.Tensor) -> torch.Tensor:
        """As PyTorch's decompositions: elements count in the order of memory."""
        sizes, permutation = private.layout_like(tensor)
        return self._draw(sizes).permute(permutation)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is _aten.rand.default:
            return self._draw(args[0])
        if func is _aten.rand_like.default:
            return self._draw_like(args[0])
        if func is _aten.bernoulli_.float:
            # Dropout compares with the probability to drop. PyTorch leaves out what
            # equals the default.
            kept = args[1] if len(args) > 1 else 0.5
            return args[0].copy_(self._draw_like(args[0]) > 1 - kept)
        return func(*args, **(kwargs or {}))
