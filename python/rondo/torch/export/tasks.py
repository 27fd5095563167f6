# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divides a joint graph into F, I and W, and says where their tensors lie."""

from __future__ import annotations

import torch
from torch.fx import Node

from .body import (
    Body,
    Copy,
    Place,
    Placed,
    Region,
    Task,
    Weight,
    data_place,
    edge_places,
    tensor_bytes,
)
from .cut import Kept, ancestors, bytes_of, choose_kept
from .joint import Joint
from .layer import Layer
from .parts import Part, name_parts
from .refusal import Refusal
from .task_graph import TaskGraph, placed_at

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
        self.output_places = [outputs.add(tensor_bytes(x)) for x in self.layer.outputs]
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
        builder = TaskGraph(self.joint, self.places, {g for g, _ in wanted} | set(made))
        results = [builder.dense(node) for node in made]
        outputs = [placed_at(node, place) for node, place in made.items()]
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
        builder = TaskGraph(self.joint, self.places, set(made))
        outputs = [placed_at(node, place) for node, place in made.items()]
        return builder.finish(
            kind, [builder.dense(n) for n in made], outputs, copies
        )


def _size(node: Node) -> int:
    return int(bytes_of(node))
