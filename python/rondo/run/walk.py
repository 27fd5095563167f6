# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""I and W by PyTorch's walk over the graph: for graphs of plain operations.

A custom function that computes both gradients in its backward runs in I and again in
W, so it must not add to a buffer. W ends in torch.autograd.grad: hooks of parameters do
not fire there. Reentrant checkpointing does not work with it.
"""

from __future__ import annotations

from typing import Any, Sequence

from ..torch import private
from .store import Split


class Walk(Split):
    def __init__(self) -> None:
        self.checked: set[int] = set()

    def input_grad(
        self,
        outputs: Sequence[Any],
        grads: Sequence[Any] | None,
        inputs: Sequence[Any],
        parameters: Sequence[Any],
        stage: int = 0,
    ) -> Any:
        if not inputs:
            # All of the backward is W.
            return outputs, grads
        if stage not in self.checked:
            self.checked.add(stage)
            _check_reached(outputs, inputs, parameters, stage)
        edges, found = private.edges_of(outputs, grads)
        return private.input_gradients(edges, found, list(inputs), list(parameters))

    def weight_grad(self, token: Any, parameters: Sequence[Any]) -> None:
        if isinstance(token, tuple):
            self.backward(*token)
        else:
            private.weight_gradients(list(parameters), token)


def _nodes_below(roots: Sequence[Any]) -> set[Any]:
    seen, left = set(roots), list(roots)
    while left:
        for node, _ in left.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                left.append(node)
    return seen


def _check_reached(
    outputs: Sequence[Any], inputs: Sequence[Any], parameters: Sequence[Any], stage: int
) -> None:
    """The walk finds parameters where their way to an output meets that of an input. It
    would give no gradient to one whose way to an output never does."""
    ends = {private.node_of(x) for x in inputs}
    roots = {private.node_of(y) for y in outputs}
    by_node = {private.node_of(p): i for i, p in enumerate(parameters)}
    reached = _nodes_below(list(roots))
    on_way = {node for node in reached if node in ends}
    # Nodes from which an input is reached.
    users: dict[Any, list[Any]] = {}
    for node in reached:
        for below, _ in node.next_functions:
            if below is not None:
                users.setdefault(below, []).append(node)
    left = list(on_way)
    while left:
        for user in users.get(left.pop(), []):
            if user not in on_way:
                on_way.add(user)
                left.append(user)
    # A parameter is found if all its ways up lead to one of these nodes.
    lost = _nodes_below([root for root in roots if root not in on_way])
    missed = [i for node, i in by_node.items() if node in lost]
    if missed:
        raise RuntimeError(
            f"stage {stage} has an output that depends on parameters and on no input: "
            f"I and W apart would give {len(missed)} of them no gradient; use whole "
            "backwards in this stage, or deferred weight gradients"
        )
