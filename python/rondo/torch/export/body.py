# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tasks of a layer's body: their graphs, and where their tensors lie."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.fx import GraphModule

from .layer import Layer
from .parts import Part

ALIGNMENT = 64

#: The name, in a program, of the matrix that the first and the last layer share.
TIED = "wte.weight"


def aligned(size: int) -> int:
    """A size in bytes, as buffers of rondo_task are aligned."""
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
        places += [region.add(tensor_bytes(x)) for x in tensors]
        sizes.append(region.size)
    return places, sizes


def data_place(layer: Layer, index: int) -> Place:
    """The place of a tensor that the layer reads from the data set."""
    return Place("streams", index=index) if layer.streams else Place("data")


def tensor_bytes(tensor: torch.Tensor) -> int:
    """Bytes of all elements."""
    return tensor.numel() * tensor.element_size()
