# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divides a joint graph into F, I and W, and says where their tensors lie."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.fx import Graph, GraphModule, Node

from .cut import Kept, ancestors, bytes_of, choose_kept
from .joint import Joint
from .layer import Layer
from .parts import Part, name_parts
from .refusal import Refusal

ALIGNMENT = 64

#: The name, in a program, of the matrix that the first and the last layer share.
TIED = "wte.weight"

_aten = torch.ops.aten
_convert = torch.ops.prims.convert_element_type.default


def aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(frozen=True)
class Place:
    """Bytes from the start of a buffer of rondo_task; `index` counts inputs, streams
    or parts of what F saves."""

    space: str
    offset: int = 0
    index: int = 0


@dataclass
class Placed:
    """An input or an output of a task's graph."""

    place: Place
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last."""
        last = sum((s - 1) * t for s, t in zip(self.shape, self.strides))
        count = 0 if 0 in self.shape else last + 1
        return count * self.dtype.itemsize


@dataclass
class Copy:
    """Bytes that a task copies after its graph has run; without a source, zeros."""

    to: Place
    source: Place | None
    nbytes: int


@dataclass
class Task:
    """F, I, W or B. `module` is None if there are only copies."""

    kind: str
    module: GraphModule | None = None
    inputs: list[Placed] = field(default_factory=list)
    outputs: list[Placed] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)


@dataclass
class Region:
    """A buffer that values are put into, one after the other."""

    space: str
    index: int = 0
    size: int = 0

    def add(self, size: int) -> Place:
        place = Place(self.space, self.size, self.index)
        self.size = aligned(self.size + size)
        return place


@dataclass
class Weight:
    """A parameter, or a buffer that the forward changes, and its first byte in the
    weights."""

    name: str
    value: torch.Tensor
    offset: int
    #: Without a gradient it is frozen.
    has_gradient: bool = False
    is_running: bool = False
    is_tied: bool = False

    @property
    def stated_name(self) -> str:
        """Its name in a program: see rondo_tensor."""
        return TIED if self.is_tied else self.name

    @property
    def shape(self) -> list[int]:
        """Its sizes in a program, where a number is a tensor of one dimension."""
        return list(self.value.shape) or [1]


@dataclass
class Body:
    """What Rondo needs of a layer: tasks, sizes in bytes, and constants."""

    tasks: list[Task]
    #: Those with a gradient come first.
    weights: list[Weight]
    weight_bytes: int
    frozen_weight_bytes: int
    #: Of what F saves.
    parts: list[Part]
    kept_for_weight_grad_bytes: int
    output_bytes: int
    constants: list[torch.Tensor]
    #: Of F, I and W, and of B.
    workspace_bytes: int = 0
    backward_workspace_bytes: int = 0

    @property
    def saved_for_input_grad_bytes(self) -> int:
        """Kept from F to the end of I."""
        return sum(aligned(p.nbytes) for p in self.parts if p.read_by == "input_grad")

    @property
    def saved_for_weight_grad_bytes(self) -> int:
        """Kept from F to the end of W."""
        return sum(aligned(p.nbytes) for p in self.parts if p.read_by != "input_grad")


def edge_places(layer: Layer, space: str) -> tuple[list[Place], list[int]]:
    """Places of a layer's inputs, or of their gradients, and the bytes of each edge."""
    places, sizes = [], []
    for index, tensors in enumerate(layer.edges):
        region = Region(space, index)
        places += [region.add(_bytes(x)) for x in tensors]
        sizes.append(region.size)
    return places, sizes


def data_place(layer: Layer, index: int) -> Place:
    """The place of a tensor that the layer reads from the data set."""
    return Place("streams", index=index) if layer.streams else Place("data")


def divide(
    layer: Layer, joint: Joint, recompute: float, backward: bool, coarse_parts: bool = False
) -> Body:
    """The tasks of a layer: F, I, W and, with `backward`, B. With `coarse_parts` what F
    saves has a part for each set of readers."""
    try:
        kept = choose_kept(joint, recompute)
    except Refusal as refusal:
        raise Refusal(f"layer '{layer.name}': {refusal}") from None
    return _Divider(layer, joint, kept).divide(backward, coarse_parts)


class _Divider:
    def __init__(self, layer: Layer, joint: Joint, kept: Kept):
        self.layer = layer
        self.joint = joint
        self.kept = kept
        self.places: dict[Node, Place] = {}
        #: What F puts in place of buffers.
        self.running: list[tuple[Node, Place]] = []
        self.order = {n: i for i, n in enumerate(joint.module.graph.nodes)}

    def divide(self, has_backward: bool, coarse_parts: bool) -> Body:
        weights, weight_bytes, frozen_bytes = self._place_weights()
        constants = self._place_constants()
        output_bytes = self._place_edges()
        parts = name_parts(self.joint, self._readers(), coarse_parts)
        saved = self._place_saved(parts)
        forward = self._forward(saved)
        from_input_grad = Region("kept_for_weight_grad")
        kept = {
            n: from_input_grad.add(_size(n))
            for n in self.kept.input_grad_to_weight_grad
        }
        self.places.update(saved)
        input_grad = self._input_grad(kept)
        # Without what I keeps: B computes it.
        backward = self._backward(weights) if has_backward else None
        self.places.update(kept)
        weight_grad = self._weight_grad(weights)
        return Body(
            [forward, input_grad, weight_grad, *([backward] if backward else [])],
            weights,
            weight_bytes,
            frozen_bytes,
            parts,
            from_input_grad.size,
            output_bytes,
            constants,
        )

    def _place_weights(self) -> tuple[list[Weight], int, int]:
        """The weights, their bytes, and those of frozen ones, which come last."""
        region = Region("weights")
        weights: list[Weight] = []

        def add(node: Node, name: str, value: torch.Tensor) -> Weight:
            place = region.add(value.numel() * 4)
            weights.append(Weight(name, value, place.offset))
            if self.layer.target.has_copies:
                offset = place.offset // 4 * self.layer.target.dtype.itemsize
                place = Place("weights_in_dtype", offset)
            self.places[node] = place
            return weights[-1]

        parameters = list(
            zip(
                self.joint.parameters, self.layer.parameters, self.joint.parameter_grads
            )
        )
        for node, (name, parameter), grad in parameters:
            if grad is not None:
                weight = add(node, name, parameter)
                weight.has_gradient = True
                weight.is_tied = name == self.layer.tied
        trained_bytes = region.size
        for node, (name, parameter), grad in parameters:
            if grad is None:
                add(node, name, parameter)
        buffers = dict(self.layer.buffers)
        for name, (old, new) in zip(self.layer.running, self.joint.running):
            weight = add(old, name, buffers[name])
            weight.is_running = True
            self.running.append((new, Place("running_weights", weight.offset)))
        return weights, region.size, region.size - trained_bytes

    def _place_constants(self) -> list[torch.Tensor]:
        region = Region("constants")
        result = []
        for node, tensor in self.joint.constants.items():
            dense = tensor.detach().contiguous()
            self.places[node] = region.add(dense.numel() * dense.element_size())
            result.append(dense)
        return result

    def _place_edges(self) -> int:
        """Inputs and outputs of the layer; the bytes of an output."""
        data = self.joint.inputs if self.layer.is_first else self.joint.targets
        for index, node in enumerate(data):
            self.places[node] = data_place(self.layer, index)
        inputs, _ = edge_places(self.layer, "inputs")
        self.places |= dict(zip(self.joint.inputs, inputs))
        self.grad_places, _ = edge_places(self.layer, "input_grads")
        if self.joint.key is not None:
            self.places[self.joint.key] = Place("random_key")
        if self.layer.loss_fn is not None:
            self.output_places = [Place("loss")]
            for tangent in self.joint.tangents:
                self.places[tangent] = Place("loss_scale")
            return 0
        outputs = Region("output")
        self.output_places = [outputs.add(_bytes(x)) for x in self.layer.outputs]
        # Only what can have a gradient has a tangent.
        floats = [
            place
            for place, x in zip(self.output_places, self.layer.outputs)
            if x.is_floating_point()
        ]
        for tangent, place in zip(self.joint.tangents, floats):
            self.places[tangent] = Place("output_grad", place.offset)
        return outputs.size

    def _readers(self) -> dict[Node, str]:
        """The tasks that read what F saves."""
        kept = self.kept
        for_input_grad = kept.forward_to_input_grad
        saved = {*for_input_grad, *kept.forward_to_weight_grad, *self.places}
        wanted = {g for g in self.joint.input_grads if g is not None}
        wanted |= set(kept.input_grad_to_weight_grad)
        read = wanted | {p for n in ancestors(wanted, saved) for p in n.all_input_nodes}
        return {n: "input_grad" for n in for_input_grad} | {
            n: "both" if n in read else "weight_grad"
            for n in kept.forward_to_weight_grad
        }

    def _place_saved(self, parts: list[Part]) -> dict[Node, Place]:
        saved = {}
        for index, part in enumerate(parts):
            region = Region("saved", index)
            for node in part.nodes:
                saved[node] = region.add(_size(node))
                part.nbytes = saved[node].offset + _size(node)
        return saved

    def _forward(self, saved: dict[Node, Place]) -> Task:
        wanted = list(zip(self.joint.outputs, self.output_places))
        return self._task("F", wanted + list(saved.items()) + self.running)

    def _input_grad(self, kept: dict[Node, Place]) -> Task:
        wanted = []
        zeros = []
        for node, grad, place in zip(
            self.joint.inputs, self.joint.input_grads, self.grad_places
        ):
            if grad is None:
                zeros.append(Copy(place, None, _size(node)))
            else:
                wanted.append((grad, place))
        task = self._task("I", wanted + list(kept.items()))
        task.copies += zeros
        return task

    def _weight_grad(self, weights: list[Weight]) -> Task:
        return self._accumulating("W", weights, {})

    def _backward(self, weights: list[Weight]) -> Task | None:
        """I and W in one; None if one of them has no graph."""
        made: dict[Node, Place] = {}
        copies: list[Copy] = []
        for node, grad, place in zip(
            self.joint.inputs, self.joint.input_grads, self.grad_places
        ):
            source = None if grad is None else made.get(grad, self.places.get(grad))
            if grad is None or source is not None:
                copies.append(Copy(place, source, _size(node)))
            else:
                made[grad] = place
        task = self._accumulating("B", weights, made)
        task.copies += copies
        return task if made and len(task.outputs) > len(made) else None

    def _accumulating(
        self, kind: str, weights: list[Weight], made: dict[Node, Place]
    ) -> Task:
        """A task that adds to the gradients of weights, and leaves nodes at places."""
        grads = dict(
            zip((n for n, _ in self.layer.parameters), self.joint.parameter_grads)
        )
        wanted = [
            (
                grads[weight.name],
                Placed(
                    Place("gradients", weight.offset),
                    tuple(weight.value.shape),
                    weight.value.detach().contiguous().stride(),
                    torch.float32,
                ),
            )
            for weight in weights
            if weight.has_gradient
        ]
        if not wanted:
            return Task(kind)
        builder = _Builder(self.joint, self.places, {g for g, _ in wanted} | set(made))
        results = [builder.dense(node) for node in made]
        outputs = [_placed(node, place) for node, place in made.items()]
        for index, (grad, placed) in enumerate(wanted):
            old = builder.placeholder(f"old_{index}", placed)
            results.append(builder.accumulate(old, grad))
            outputs.append(placed)
        return builder.finish(kind, results, outputs, [])

    def _task(self, kind: str, wanted: list[tuple[Node, Place]]) -> Task:
        """A task that leaves nodes at places. What it only hands on is copied."""
        copies: list[Copy] = []
        made: dict[Node, Place] = {}
        for node, place in wanted:
            source = made.get(node, self.places.get(node))
            if source is not None:
                copies.append(Copy(place, source, _size(node)))
            else:
                made[node] = place
        if not made:
            return Task(kind, copies=copies)
        builder = _Builder(self.joint, self.places, set(made))
        outputs = [_placed(node, place) for node, place in made.items()]
        return builder.finish(
            kind, [builder.dense(n) for n in made], outputs, copies
        )


class _Builder:
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


def _placed(node: Node, place: Place) -> Placed:
    """A node that a graph returns without gaps."""
    value = node.meta["val"]
    return Placed(place, tuple(value.shape), _dense_strides(value), value.dtype)


def _size(node: Node) -> int:
    return int(bytes_of(node))


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
