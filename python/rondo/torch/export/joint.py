# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces a layer and its gradients as one graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence, TypeVar

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from . import private
from .calls import Calls, operation_of, place
from .random_numbers import hash_random_numbers


class Refusal(ValueError):
    """A module that cannot be exported: which, why, and what to do."""


@dataclass
class Layer:
    """A module with an example of its inputs.

    `edges` are the outputs of other layers that it reads, and `inputs` all tensors
    of these, or the data of the first layer, which has no edges. `loss_fn` and
    `targets` make the last layer's loss.
    """

    name: str
    module: torch.nn.Module
    edges: list[list[torch.Tensor]]
    inputs: list[torch.Tensor]
    loss_fn: Callable[[Any, torch.Tensor], torch.Tensor] | None = None
    targets: torch.Tensor | None = None
    outputs: list[torch.Tensor] = field(default_factory=list)
    calls: Calls = field(default_factory=Calls)

    @property
    def is_first(self) -> bool:
        return not self.edges

    @property
    def parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        return list(self.module.named_parameters())

    @property
    def buffers(self) -> list[tuple[str, torch.Tensor]]:
        return list(self.module.named_buffers())

    def run(self) -> list[torch.Tensor]:
        """What the next layers take: dense tensors, whole numbers as int32."""
        with torch.no_grad():
            result = self.module(*self.inputs)
        return [_as_output(x, False) for x in self._tensors(result)]

    def _tensors(self, result: Any) -> list[torch.Tensor]:
        leaves = tree_leaves(result)
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise Refusal(
                    f"layer '{self.name}' returns a {type(leaf).__name__}, and only "
                    "tensors go to the next layer"
                )
        return leaves

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
        return self._tensors(result)


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
    #: What random numbers are computed from, if there are any.
    key: Node | None = None


def trace(layer: Layer) -> Joint:
    """The joint graph of a layer, in ATen operations without side effects."""
    names = [name for name, _ in layer.parameters]
    buffers = [name for name, _ in layer.buffers]
    inputs = [_example(x, not layer.is_first) for x in layer.inputs]
    targets = [] if layer.targets is None else [layer.targets.to(torch.int32)]

    # Outputs in memory of another tensor, which a graph cannot return.
    shared: set[int] = set()

    def compute(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = dict(zip(names + buffers, args))
        rest = args[len(values) :]
        outputs = layer.call(
            values, rest[: len(inputs)], rest[-1] if targets else None
        )
        return tuple(
            _as_output(x, index in shared) for index, x in enumerate(outputs)
        )

    args = (
        *(p.detach().requires_grad_(p.requires_grad) for _, p in layer.parameters),
        *(b.detach() for _, b in layer.buffers),
        *inputs,
        *targets,
    )
    layer.outputs = _refuse_or(layer, lambda: _run(layer, compute, args, shared))
    module = _refuse_or(layer, lambda: private.joint_graph(compute, args))
    private.common_subexpressions(module)
    _refuse_operations(layer, module)
    _split_convolutions(module)
    joint = _describe(layer, module, len(names), len(buffers))
    joint.input_grads = [_contiguous(module, grad) for grad in joint.input_grads]
    joint.key = hash_random_numbers(module)
    _refuse_random(layer, module)
    return joint


def _example(tensor: torch.Tensor, needs_grad: bool) -> torch.Tensor:
    if tensor.is_floating_point():
        return tensor.detach().clone().requires_grad_(needs_grad)
    return tensor.to(torch.int32)


def _as_output(tensor: torch.Tensor, is_shared: bool) -> torch.Tensor:
    """A tensor as edges have it: contiguous, whole numbers as int32."""
    if not tensor.is_floating_point() and tensor.dtype != torch.int32:
        return tensor.to(torch.int32)
    if is_shared:
        return tensor.clone(memory_format=torch.contiguous_format)
    return tensor.contiguous()


def _run(
    layer: Layer,
    compute: Callable[..., tuple[torch.Tensor, ...]],
    args: Sequence[torch.Tensor],
    shared: set[int],
) -> list[torch.Tensor]:
    """The outputs, and in `shared` the indices of those in another tensor's memory;
    refuses a layer that changes its buffers."""
    before = [b.detach().clone() for _, b in layer.buffers]
    with layer.calls:
        outputs = list(compute(*args))
    for (name, after), old in zip(layer.buffers, before):
        if not torch.equal(after, old):
            with torch.no_grad():
                after.copy_(old)
            raise Refusal(
                f"layer '{layer.name}' changes its buffer '{name}' in the forward: "
                "call eval() on the module that does, or use one without such a state"
            )
    memory = {x.untyped_storage().data_ptr() for x in args}
    for index, output in enumerate(outputs):
        if output.is_floating_point() and output.dtype != torch.float32:
            raise Refusal(
                f"output {index} of layer '{layer.name}' is {output.dtype}: on the "
                "CPU layers compute in fp32"
            )
        if output._is_view() or output.untyped_storage().data_ptr() in memory:
            shared.add(index)
        memory.add(output.untyped_storage().data_ptr())
    return [x.detach() for x in outputs]


_Result = TypeVar("_Result")


def _refuse_or(layer: Layer, compute: Callable[[], _Result]) -> _Result:
    """The result; a refusal that names the module if there is an exception."""
    try:
        with layer.calls.watch(layer.module):
            return compute()
    except Refusal:
        raise
    except private.DYNAMIC_SHAPE as error:
        raise Refusal(
            f"{_innermost(layer)}: the shape of what {error.func} returns depends on "
            "data: compute with all elements and a mask, for instance by torch.where; "
            "experts of transformers have experts_implementation='grouped_mm'"
        ) from error
    except private.DATA_DEPENDENT as error:
        raise Refusal(
            f"{_innermost(layer)}: {error.func} reads a number of a tensor, and a graph "
            "has no branches on data: use torch.where"
        ) from error
    except Exception as error:
        reason = str(error).strip().splitlines()
        raise Refusal(
            f"{_innermost(layer)} is not one graph of fixed shapes: "
            f"{type(error).__name__}: {reason[0][:300] if reason else ''}"
        ) from error


def _innermost(layer: Layer) -> str:
    return place(layer.name, layer.calls.innermost())


def _where(layer: Layer, node: Node) -> str:
    """Words for the module that calls an operation of the graph."""
    return place(layer.name, layer.calls.modules.get(operation_of(node.target), ""))


def _refuse_operations(layer: Layer, module: GraphModule) -> None:
    """Refuses operations that would fail in a compiled graph."""
    aten = torch.ops.aten
    products = (aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.convolution)
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        packet = getattr(node.target, "overloadpacket", None)
        if packet is aten.convolution and (node.args[6] or value.dim() > 4):
            raise Refusal(
                f"{_where(layer, node)}: {node.target} is "
                f"{'transposed' if node.args[6] else 'of three dimensions'}, and Rondo "
                "has convolutions of one and two dimensions, not transposed: upsample "
                "by torch.nn.functional.interpolate, or sum two-dimensional ones"
            )
        is_narrow = value.dtype in (torch.float16, torch.bfloat16)
        is_double = value.dtype == torch.float64 and packet in products
        if value.is_complex() or is_narrow or is_double:
            module_path = layer.calls.modules.get(value.dtype, "")
            raise Refusal(
                f"{place(layer.name, module_path)}: {node.target} gives {value.dtype}: on the CPU "
                "layers compute in fp32; convert the module with float(), leave out "
                "autocast, and write complex numbers as pairs"
            )


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


def _contiguous(module: GraphModule, node: Node | None) -> Node | None:
    """The node, or a contiguous copy of it."""
    if node is None or node.meta["val"].is_contiguous():
        return node
    clone, layout = torch.ops.aten.clone.default, torch.contiguous_format
    results = next(n for n in module.graph.nodes if n.op == "output")
    with module.graph.inserting_before(results):
        copy = module.graph.call_function(clone, (node,), {"memory_format": layout})
    copy.meta["val"] = node.meta["val"].contiguous()
    return copy


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
            f"{_where(layer, node)}: {node.target} draws random numbers, and only "
            "dropout and torch.rand give the same ones in every schedule: use these, "
            "or call eval()"
        )


def _refuse_tangents(
    layer: Layer, module: GraphModule, tangents: Sequence[Node]
) -> None:
    """Refuses graphs with other inputs than those of the layer, or with fewer."""
    floats = [x for x in layer.outputs if x.is_floating_point()]
    if len(tangents) > len(floats):
        # PyTorch adds inputs that keep the order of operations with effects.
        targets = [
            node.args[1]
            for node in module.graph.nodes
            if str(node.target) == "with_effects"
        ]
        operations = ", ".join(sorted({str(t) for t in targets})) or "an operation"
        path = layer.calls.modules.get(operation_of(targets[0]), "") if targets else ""
        raise Refusal(
            f"{place(layer.name, path)}: {operations} has effects other than its result, "
            "such as checks of its data: use another operation"
        )
    if 0 < len(tangents) < len(floats):
        raise Refusal(
            f"layer '{layer.name}' returns {len(floats)} tensors of fp32, of which only "
            f"{len(tangents)} depend on its inputs or parameters: compute the others in "
            "the layers that use them"
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
    _refuse_tangents(layer, module, tangents)
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
