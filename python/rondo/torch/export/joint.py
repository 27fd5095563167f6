# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces a layer and its gradients as one graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from . import private


class Refusal(ValueError):
    """A module that cannot be exported: which, why, and what to do."""


@dataclass
class Layer:
    """A module with an example of its inputs.

    `data` is the place in `inputs` of the one tensor that the data set gives, or
    -1. `loss_fn` and `targets` make the last layer's loss.
    """

    name: str
    module: torch.nn.Module
    inputs: list[torch.Tensor]
    is_first: bool = False
    loss_fn: Callable[[Any, torch.Tensor], torch.Tensor] | None = None
    targets: torch.Tensor | None = None
    outputs: list[torch.Tensor] = field(default_factory=list)

    @property
    def parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        return list(self.module.named_parameters())

    @property
    def buffers(self) -> list[tuple[str, torch.Tensor]]:
        return list(self.module.named_buffers())

    def call(
        self,
        values: dict[str, torch.Tensor],
        inputs: Sequence[torch.Tensor],
        targets: torch.Tensor | None,
    ) -> list[torch.Tensor]:
        """The layer's tensors, computed with these weights and buffers."""
        given = [
            x.to(example.dtype) if not x.is_floating_point() else x
            for x, example in zip(inputs, self.inputs)
        ]
        result = torch.func.functional_call(self.module, values, tuple(given))
        if self.loss_fn is not None:
            assert targets is not None and self.targets is not None
            result = self.loss_fn(result, targets.to(self.targets.dtype))
        leaves = tree_leaves(result)
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise Refusal(
                    f"layer '{self.name}' returns a {type(leaf).__name__}, and only "
                    "tensors go to the next layer"
                )
        return leaves


@dataclass
class Joint:
    """One graph of a layer's outputs and gradients.

    Gradients are None for what has none. `constants` are buffers and tensors that
    the graph itself contains.
    """

    module: GraphModule
    parameters: list[Node]
    constants: dict[Node, torch.Tensor]
    inputs: list[Node]
    targets: Node | None
    tangents: list[Node]
    outputs: list[Node]
    parameter_grads: list[Node | None]
    input_grads: list[Node | None]


def trace(layer: Layer) -> Joint:
    """The joint graph of a layer, in ATen operations without side effects."""
    names = [name for name, _ in layer.parameters]
    buffers = [name for name, _ in layer.buffers]
    inputs = [_example(x, not layer.is_first) for x in layer.inputs]
    targets = [] if layer.targets is None else [layer.targets.to(torch.int32)]

    def compute(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = dict(zip(names + buffers, args))
        rest = args[len(values) :]
        outputs = layer.call(
            values, rest[: len(inputs)], rest[-1] if targets else None
        )
        # An output that is an input would share its memory.
        return tuple(x.clone() if _is_one_of(x, args) else x for x in outputs)

    args = (
        *(p.detach().requires_grad_(p.requires_grad) for _, p in layer.parameters),
        *(b.detach() for _, b in layer.buffers),
        *inputs,
        *targets,
    )
    layer.outputs = _run(layer, compute, args)
    module = _refuse_or(layer, lambda: private.joint_graph(compute, args))
    private.common_subexpressions(module)
    _refuse_random(layer, module)
    _split_convolutions(module)
    return _describe(layer, module, len(names), len(buffers))


def _example(tensor: torch.Tensor, needs_grad: bool) -> torch.Tensor:
    if tensor.is_floating_point():
        return tensor.detach().clone().requires_grad_(needs_grad)
    return tensor.to(torch.int32)


def _is_one_of(tensor: torch.Tensor, args: Sequence[torch.Tensor]) -> bool:
    return any(tensor is arg or tensor._base is arg for arg in args)


def _run(
    layer: Layer,
    compute: Callable[..., tuple[torch.Tensor, ...]],
    args: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """The outputs; refuses a layer that changes its buffers."""
    before = [b.detach().clone() for _, b in layer.buffers]
    outputs = [x.detach() for x in compute(*args)]
    for (name, after), old in zip(layer.buffers, before):
        if not torch.equal(after, old):
            with torch.no_grad():
                after.copy_(old)
            raise Refusal(
                f"layer '{layer.name}' changes its buffer '{name}' in the forward: "
                "call eval() on the module that does, or use one without such a state"
            )
    for index, output in enumerate(outputs):
        if output.is_floating_point() and output.dtype != torch.float32:
            raise Refusal(
                f"output {index} of layer '{layer.name}' is {output.dtype}: on the "
                "CPU layers compute in fp32"
            )
    return outputs


def _refuse_or(layer: Layer, trace: Callable[[], GraphModule]) -> GraphModule:
    try:
        return trace()
    except Refusal:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise Refusal(
            f"layer '{layer.name}' is not one graph of fixed shapes: "
            f"{type(error).__name__}: {reason[0] if reason else ''}"
        ) from error


def _split_convolutions(module: GraphModule) -> None:
    """Gives the input gradient of a convolution an operation of its own, since the
    one that PyTorch has would put the weight gradient into I."""
    graph = module.graph
    backward = torch.ops.aten.convolution_backward.default
    for node in list(graph.nodes):
        if node.target is not backward or not (node.args[-1][0] and any(node.args[-1][1:])):
            continue
        value, mask = node.meta["val"], node.args[-1]
        with graph.inserting_after(node):
            first = graph.call_function(
                backward, (*node.args[:-1], [True, False, False])
            )
            first.meta["val"] = (value[0], None, None)
        node.args = (*node.args[:-1], [False, *mask[1:]])
        node.meta["val"] = (None, *value[1:])
        for user in list(node.users):
            if user.target is operator.getitem and user.args[1] == 0:
                user.replace_input_with(node, first)
    graph.lint()
    module.recompile()


def _refuse_random(layer: Layer, module: GraphModule) -> None:
    """Refuses operations that draw random numbers."""
    for node in module.graph.nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded not in tags:
            continue
        # Attention could drop probabilities; its fourth argument says how many.
        if "attention" in str(node.target) and not any(node.args[3:4]):
            continue
        raise Refusal(
            f"layer '{layer.name}' draws random numbers by {node.target}: call eval() "
            "on its dropout modules, or set their probability to 0"
        )


def _describe(
    layer: Layer, module: GraphModule, num_parameters: int, num_buffers: int
) -> Joint:
    graph = module.graph
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    num_inputs = len(layer.inputs)
    bounds = [
        num_parameters,
        num_buffers,
        num_inputs,
        0 if layer.targets is None else 1,
    ]
    parts: list[list[Node]] = []
    begin = 0
    for count in bounds:
        parts.append(placeholders[begin : begin + count])
        begin += count
    tangents = placeholders[begin:]
    results = next(n for n in graph.nodes if n.op == "output").args[0]
    num_outputs = len(layer.outputs)
    grads = list(results[num_outputs:])
    grads += [None] * (begin - len(grads))
    constants = {
        node: tensor for node, (_, tensor) in zip(parts[1], layer.buffers)
    }
    for node in graph.nodes:
        if node.op == "get_attr":
            constants[node] = operator.attrgetter(str(node.target))(module)
    first = num_parameters + num_buffers
    return Joint(
        module,
        parts[0],
        constants,
        parts[2],
        parts[3][0] if parts[3] else None,
        tangents,
        list(results[:num_outputs]),
        grads[:num_parameters],
        grads[first : first + num_inputs],
    )
