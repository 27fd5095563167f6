# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces a layer and its gradients as one graph."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Callable, Sequence, TypeVar

import torch
from torch.fx import GraphModule, Node
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import private
from .attention import has_kernels_of_attention
from .calls import operation_of, place
from .layer import Layer, as_output, staged
from .random_numbers import hash_random_numbers
from .refusal import Refusal


@dataclass
class Joint:
    """One graph of a layer's outputs and gradients.

    Gradients are None for what has none. `constants` are buffers and tensors that
    the graph itself contains.
    """

    module: GraphModule
    parameters: list[Node]
    constants: dict[Node, torch.Tensor]
    #: Buffers that the forward changes: before and after.
    running: list[tuple[Node, Node]]
    inputs: list[Node]
    targets: list[Node]
    tangents: list[Node]
    outputs: list[Node]
    parameter_grads: list[Node | None]
    input_grads: list[Node | None]
    #: What random numbers are computed from, if there are any.
    key: Node | None = None


def trace(layer: Layer) -> Joint:
    """The joint graph of a layer, in ATen operations without side effects."""
    for name, parameter in layer.parameters:
        if parameter.dtype != torch.float32:
            raise Refusal(
                f"parameter '{name}' of layer '{layer.name}' is {parameter.dtype}: "
                "convert the module with float()"
            )
    names = [name for name, _ in layer.parameters]
    buffers = dict(layer.buffers)
    inputs = [
        staged(x) if layer.is_first else _example(x) for x in layer.inputs
    ]
    targets = [staged(x) for x in layer.targets]
    layer.running = _refuse_or(layer, lambda: _running_buffers(layer))
    if layer.running and layer.target.is_cuda:
        raise Refusal(
            f"layer '{layer.name}' changes its buffer '{layer.running[0]}' in the "
            "forward, which only programs for CPUs can: call eval() on the module"
        )

    # Outputs in memory of another tensor, which a graph cannot return.
    shared: set[int] = set()

    def compute(*args: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = dict(zip([*names, *buffers], args))
        rest = args[len(values) :]
        for name in layer.running:
            # A program keeps them as weights, in fp32.
            values[name] = values[name].to(buffers[name].dtype, copy=True)
        outputs = layer.call(values, rest[: len(inputs)], rest[len(inputs) :])
        return (
            *(as_output(x, index in shared) for index, x in enumerate(outputs)),
            *(values[name].detach().float() for name in layer.running),
        )

    args = (
        *(
            p.detach()
            .to(layer.target.dtype)
            .contiguous()
            .requires_grad_(p.requires_grad)
            for _, p in layer.parameters
        ),
        *(
            b.detach().float().contiguous() if n in layer.running else b.detach()
            for n, b in buffers.items()
        ),
        *inputs,
        *targets,
    )
    layer.outputs = _refuse_or(layer, lambda: _run(layer, compute, args, shared))
    module = _refuse_or(layer, lambda: private.joint_graph(compute, args))
    if layer.target.is_cuda and not has_kernels_of_attention(module):
        # Products and a softmax.
        with sdpa_kernel(SDPBackend.MATH):
            module = _refuse_or(layer, lambda: private.joint_graph(compute, args))
    private.common_subexpressions(module)
    _refuse_operations(layer, module)
    _split_convolutions(module)
    joint = _describe(layer, module)
    _refuse_running(layer, joint)
    joint.input_grads = [_contiguous(module, grad) for grad in joint.input_grads]
    joint.key = hash_random_numbers(module)
    _refuse_random(layer, module)
    return joint


def _example(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_floating_point():
        return tensor.detach().clone().requires_grad_()
    return tensor.to(torch.int32)


def _running_buffers(layer: Layer) -> list[str]:
    """The buffers that the forward changes, in place or by another tensor."""
    values = layer.values()
    given = dict(values)
    versions = {name: given[name]._version for name, _ in layer.buffers}
    with layer.calls, torch.no_grad():
        layer.call(values, layer.inputs, layer.targets)
    found = []
    for name, buffer in layer.buffers:
        after = values[name]
        if (
            after is given[name]
            and after._version == versions[name]
            and torch.equal(after, buffer)
        ):
            continue
        if after.dtype not in (torch.float32, torch.int32, torch.int64, torch.bool):
            raise Refusal(
                f"layer '{layer.name}' changes its buffer '{name}' of {after.dtype}: "
                "a program keeps such buffers in fp32"
            )
        if after.shape != buffer.shape or after.dtype != buffer.dtype:
            raise Refusal(
                f"layer '{layer.name}' replaces its buffer '{name}', {buffer.dtype} "
                f"{tuple(buffer.shape)}, by {after.dtype} {tuple(after.shape)}: keep "
                "type and sizes"
            )
        found.append(name)
    return found


def _refuse_running(layer: Layer, joint: Joint) -> None:
    """Refuses buffers that a forward both changes and uses."""
    results = [*joint.outputs, *joint.parameter_grads, *joint.input_grads]
    needed: set[Node] = set()
    open_nodes = [node for node in results if node is not None]
    while open_nodes:
        node = open_nodes.pop()
        if node not in needed:
            needed.add(node)
            open_nodes += node.all_input_nodes
    for name, (old, _) in zip(layer.running, joint.running):
        if old in needed:
            raise Refusal(
                f"layer '{layer.name}' changes its buffer '{name}' in the forward, and "
                "its outputs depend on it: they would depend on the order of "
                "micro-batches, and on recomputation; call eval() on the module, or "
                "keep the buffer as it is"
            )


def _run(
    layer: Layer,
    compute: Callable[..., tuple[torch.Tensor, ...]],
    args: Sequence[torch.Tensor],
    shared: set[int],
) -> list[torch.Tensor]:
    """The outputs, and in `shared` the indices of those in another tensor's memory."""
    with layer.calls:
        results = list(compute(*args))
    outputs = results[: len(results) - len(layer.running)]
    memory = {x.untyped_storage().data_ptr() for x in args}
    for index, output in enumerate(outputs):
        wanted = torch.float32 if layer.loss_fn is not None else layer.target.dtype
        if output.is_floating_point() and output.dtype != wanted:
            raise Refusal(
                f"output {index} of layer '{layer.name}' is {output.dtype}, not "
                f"{wanted}, in which layers compute {layer.target.where}"
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
        # A gradient may need what a buffer was.
        changed = "".join(f"; it changes its buffer '{name}'" for name in layer.running)
        raise Refusal(
            f"{_innermost(layer)} is not one graph of fixed shapes: "
            f"{type(error).__name__}: {reason[0][:300] if reason else ''}{changed}"
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
        is_narrow = is_narrow and value.dtype != layer.target.dtype
        is_double = value.dtype == torch.float64 and packet in products
        if value.is_complex() or is_narrow or is_double:
            module_path = layer.calls.modules.get(value.dtype, "")
            raise Refusal(
                f"{place(layer.name, module_path)}: {node.target} gives {value.dtype}: "
                f"{layer.target.where} layers compute in {layer.target.words}; convert the module with float(), leave out "
                "autocast, and write complex numbers as pairs, such as the cosines and sines of "
                "rotary positions"
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
    has_gradients = not layer.is_first and any(
        x.is_floating_point() for x in layer.inputs
    )
    has_gradients |= any(p.requires_grad for _, p in layer.parameters)
    if floats and not tangents and has_gradients:
        raise Refusal(
            f"layer '{layer.name}' returns nothing that has a gradient: leave out detach() "
            "and no_grad(); parameters that are not trained have requires_grad_(False)"
        )
    if 0 < len(tangents) < len(floats):
        raise Refusal(
            f"layer '{layer.name}' returns {len(floats)} tensors of fp32, of which only "
            f"{len(tangents)} depend on its inputs or parameters: compute the others in "
            "the layers that use them"
        )


def _describe(layer: Layer, module: GraphModule) -> Joint:
    graph = module.graph
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    buffers = layer.buffers
    counts = [
        len(layer.parameters),
        len(buffers),
        len(layer.inputs),
        len(layer.targets),
    ]
    parts: list[list[Node]] = []
    begin = 0
    for count in counts:
        parts.append(placeholders[begin : begin + count])
        begin += count
    tangents = placeholders[begin:]
    _refuse_tangents(layer, module, tangents)
    results = list(next(n for n in graph.nodes if n.op == "output").args[0])
    outputs = results[: len(layer.outputs)]
    replaced = results[len(outputs) :][: len(layer.running)]
    grads = results[len(outputs) + len(replaced) :]
    grads += [None] * (begin - len(grads))
    node_of = {name: node for node, (name, _) in zip(parts[1], buffers)}
    constants = {
        node_of[name]: tensor
        for name, tensor in buffers
        if name not in layer.running
    }
    for node in graph.nodes:
        if node.op == "get_attr":
            constants[node] = operator.attrgetter(str(node.target))(module)
    first = counts[0] + counts[1]
    return Joint(
        module,
        parts[0],
        constants,
        [(node_of[name], node) for name, node in zip(layer.running, replaced)],
        parts[2],
        parts[3],
        tangents,
        outputs,
        grads[: counts[0]],
        grads[first : first + counts[2]],
    )
