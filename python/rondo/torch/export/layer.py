# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Describes a layer of a model: its module, what it reads, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import torch
from torch.utils._pytree import tree_leaves, tree_map

from .calls import Calls
from .refusal import Refusal
from .target import Target


@dataclass
class Stream:
    """A part of each sample that a layer reads from the data set."""

    name: str
    #: Of the samples of a micro-batch.
    example: torch.Tensor
    #: Whole numbers are from 0 to below - 1.
    below: int | None = None


def staged(tensor: torch.Tensor) -> torch.Tensor:
    """Data as a program has them: fp32, uint8 or int32."""
    if tensor.is_floating_point():
        return tensor.to(torch.float32)
    if tensor.dtype in (torch.uint8, torch.bool):
        return tensor.to(torch.uint8)
    return tensor.to(torch.int32)


@dataclass
class Shared:
    """The part of a layer in parameters that several layers have. The first of them
    owns it; it goes from layer to layer after their outputs, to all that use it. A
    parameter is called as in its owner, LAYER.PARAMETER."""

    #: By the layer's own names for them.
    owned: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    #: In the order of the outputs.
    handed_on: list[str] = field(default_factory=list)
    #: Inputs that the module does not take: which parameter each is.
    inputs: dict[int, str] = field(default_factory=dict)

    def values(
        self, weights: dict[str, torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Those that the layer owns or gets."""
        found = {shared: weights[name] for name, shared in self.owned.items()}
        for index, shared in self.inputs.items():
            found.setdefault(shared, inputs[index])
        return found


@dataclass
class Layer:
    """A module with an example of its inputs.

    `edges` are the outputs of other layers that it reads, and `inputs` all tensors
    of these, or the data of the first layer, which has no edges. `loss_fn` and
    `targets` make the last layer's loss. Its data are tokens or targets, or the
    parts of each sample that `streams` describes.
    """

    name: str
    module: torch.nn.Module
    edges: list[list[torch.Tensor]]
    inputs: list[torch.Tensor]
    loss_fn: Callable[..., torch.Tensor] | None = None
    targets: list[torch.Tensor] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)
    #: The buffers that the forward changes, such as running means.
    running: list[str] = field(default_factory=list)
    #: The parameter that the first and the last layer share.
    tied: str | None = None
    shared: Shared = field(default_factory=Shared)
    #: Whether parameters that are not trained are constants of the library.
    frozen_are_constants: bool = False
    target: Target = Target()
    calls: Calls = field(default_factory=Calls)

    @property
    def is_first(self) -> bool:
        return not self.edges

    @property
    def parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        """Without those of layers before it, and without constants."""
        return [
            (name, parameter)
            for name, parameter in self.module.named_parameters()
            if name not in self.shared.used
            and (parameter.requires_grad or not self.frozen_are_constants)
        ]

    @property
    def buffers(self) -> list[tuple[str, torch.Tensor]]:
        """With parameters that are constants."""
        frozen = [
            (name, self._narrow(parameter.detach()))
            for name, parameter in self.module.named_parameters()
            if self.frozen_are_constants and not parameter.requires_grad
        ]
        return [*self.module.named_buffers(), *frozen]

    @property
    def data(self) -> list[torch.Tensor]:
        """What it reads from the data set."""
        return self.inputs if self.is_first else self.targets

    def values(self) -> dict[str, torch.Tensor]:
        """Weights, and copies of the buffers, which call() may change."""
        copies = {name: buffer.detach().clone() for name, buffer in self.buffers}
        return dict(self.parameters) | copies

    def run(self) -> list[torch.Tensor]:
        """What the next layers take: dense tensors, whole numbers as int32."""
        with torch.no_grad():
            result = self.call(self.values(), self.inputs, [])
        return [as_output(x.detach(), False) for x in result]

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
        targets: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:
        """The layer's tensors, computed with these weights and buffers. What the
        forward puts in place of a buffer is in `values` afterwards."""
        if self.target.has_copies:
            narrow = {name: values[name] for name, _ in self.parameters}
            values.update({name: self._narrow(value) for name, value in narrow.items()})
            inputs = [self._narrow(x) for x in inputs]
        shared = self.shared.values(values, inputs)
        values.update({name: shared[key] for name, key in self.shared.used.items()})
        examples = _as_examples(inputs, self.inputs)
        given = tuple(x for i, x in enumerate(examples) if i not in self.shared.inputs)
        result = torch.func.functional_call(self.module, values, given)
        if self.loss_fn is not None:
            # A loss is computed in fp32.
            whole = tree_map(_widened, result)
            result = self.loss_fn(whole, *_as_examples(targets, self.targets))
            return self._tensors(result)
        tensors = [self._narrow(x) for x in self._tensors(result)]
        return tensors + [shared[key] for key in self.shared.handed_on]

    def _narrow(self, tensor: torch.Tensor) -> torch.Tensor:
        """In the type of activations, if it is one that has them all."""
        is_narrowed = self.target.has_copies and tensor.dtype == torch.float32
        return tensor.to(self.target.dtype) if is_narrowed else tensor


def _widened(value: Any) -> Any:
    is_narrow = isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16
    return value.float() if is_narrow else value


def _as_examples(
    tensors: Sequence[torch.Tensor], examples: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Whole numbers in the types that the module takes."""
    return tuple(
        x if x.is_floating_point() else x.to(example.dtype)
        for x, example in zip(tensors, examples)
    )


def as_output(tensor: torch.Tensor, is_shared: bool) -> torch.Tensor:
    """A tensor as edges have it: contiguous, whole numbers as int32."""
    if not tensor.is_floating_point() and tensor.dtype != torch.int32:
        return tensor.to(torch.int32)
    if is_shared:
        return tensor.clone(memory_format=torch.contiguous_format)
    return tensor.contiguous()
