# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks of clients that pass tensors, or tuples of them, between stages."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import torch
import torch.distributed as dist

from .runner import Hooks
from .store import Split, Store
from .table import Table
from .walk import Walk

# Written as their index in a message of shapes.
_DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
]
_SHAPE_NUMBERS = 256


class Shape(NamedTuple):
    """One tensor that a stage passes on."""

    size: tuple[int, ...]
    dtype: Any
    requires_grad: bool


class Shapes(NamedTuple):
    """Shapes of the tensors that a stage passes on for each micro-batch."""

    is_tuple: bool
    tensors: tuple[Shape, ...]


def tensors_of(value: Any) -> list[Any]:
    """The tensors of a value."""
    return [value] if isinstance(value, torch.Tensor) else list(value)


def with_grad(value: Any) -> list[Any]:
    """The tensors of a value that require a gradient."""
    if value is None:
        return []
    return [t for t in tensors_of(value) if t.requires_grad]


def shapes_of(value: Any) -> Shapes:
    found = tensors_of(value)
    if not all(isinstance(t, torch.Tensor) for t in found):
        raise TypeError(
            "a stage returned something else than a tensor or a tuple of tensors: "
            + ", ".join(type(t).__name__ for t in found)
        )
    shapes = tuple(Shape(tuple(t.shape), t.dtype, t.requires_grad) for t in found)
    return Shapes(not isinstance(value, torch.Tensor), shapes)


def encode(shapes: Shapes) -> list[int]:
    """Shapes as the numbers of a message."""
    numbers = [int(shapes.is_tuple), len(shapes.tensors)]
    for shape in shapes.tensors:
        numbers += [_DTYPES.index(shape.dtype), int(shape.requires_grad)]
        numbers += [len(shape.size), *shape.size]
    if len(numbers) > _SHAPE_NUMBERS:
        raise ValueError(f"a stage passes on too many tensors: {len(shapes.tensors)}")
    return numbers + [0] * (_SHAPE_NUMBERS - len(numbers))


def decode(numbers: Sequence[int]) -> Shapes:
    is_tuple, count, place = bool(numbers[0]), numbers[1], 2
    shapes = []
    for _ in range(count):
        dtype, requires_grad, length = numbers[place : place + 3]
        place += 3
        size = tuple(numbers[place : place + length])
        place += length
        shapes.append(Shape(size, _DTYPES[dtype], bool(requires_grad)))
    return Shapes(is_tuple, tuple(shapes))


class TensorHooks(Hooks):
    """Needs forward() and parameters() of a client, and run_sample() if shapes are
    exchanged. `ranks` are the global ranks of those of the table; by default the table's
    own. `split` is "walk" or "store": how I and W are separated."""

    def __init__(
        self,
        table: Table,
        rank: int,
        *,
        ranks: Sequence[int] | None = None,
        device: Any = "cpu",
        group: Any = None,
        split: str = "walk",
    ):
        if split not in ("walk", "store"):
            raise ValueError(f'split is "walk" or "store", not {split!r}')
        self.table, self.rank = table, rank
        self.ranks = list(ranks) if ranks is not None else list(range(table.num_ranks))
        self.device, self.group = device, group
        self.split: Split = Walk() if split == "walk" else Store()
        # Shapes of the input and of the output of each stage.
        self.inputs: dict[int, Shapes] = {}
        self.outputs: dict[int, Shapes] = {}

    def parameters(self, stage: int) -> list[Any]:
        """The parameters of a stage that require gradients."""
        raise NotImplementedError

    def run_sample(self, stage: int, x: Any) -> Any:
        """Output of a stage, of which only the shapes are used. `x` is None in stage 0,
        which takes its first micro-batch."""
        raise NotImplementedError

    def exchange_shapes(self) -> None:
        """One message for each two stages of different ranks, in the order of stages. Each
        rank runs each of its stages but the last once, and leaves random numbers as
        they were. All ranks call it together."""
        self.inputs, self.outputs = {}, {}
        placement = self.table.placement
        for stage in range(self.table.num_stages - 1):
            here, there = placement[stage], placement[stage + 1]
            if here == self.rank:
                shapes = self._sample_shapes(stage)
                self.outputs[stage] = shapes
                if there == self.rank:
                    self.inputs[stage + 1] = shapes
                else:
                    message = torch.tensor(encode(shapes), device=self.device)
                    dist.send(message, self.ranks[there], group=self.group)
            elif there == self.rank:
                message = torch.empty(
                    _SHAPE_NUMBERS, dtype=torch.int64, device=self.device
                )
                dist.recv(message, self.ranks[here], group=self.group)
                self.inputs[stage + 1] = decode(message.tolist())

    def _sample_shapes(self, stage: int) -> Shapes:
        x = None
        if stage > 0:
            x = self.as_input(stage, self.empty(self.inputs[stage], zeros=True))
        devices = [] if torch.device(self.device).type == "cpu" else [self.device]
        with torch.random.fork_rng(devices=devices, enabled=True):
            return shapes_of(self.run_sample(stage, x))

    def empty(self, shapes: Shapes, *, grads: bool = False, zeros: bool = False) -> Any:
        """Tensors of these shapes; with `grads` those of the gradients."""
        make = torch.zeros if zeros else torch.empty
        found = tuple(
            make(shape.size, dtype=shape.dtype, device=self.device)
            for shape in shapes.tensors
            if shape.requires_grad or not grads
        )
        return found if shapes.is_tuple or grads else found[0]

    def as_input(self, stage: int, value: Any) -> Any:
        cut = tuple(
            t.detach().requires_grad_(shape.requires_grad and torch.is_grad_enabled())
            for t, shape in zip(tensors_of(value), self.inputs[stage].tensors)
        )
        return cut if self.inputs[stage].is_tuple else cut[0]

    def input_grad(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> Any:
        outputs = with_grad(y)
        if not outputs:
            return None
        return self.split.input_grad(
            outputs, grad, with_grad(x), self.parameters(stage), stage
        )

    def weight_grad(self, stage: int, microbatch: int, token: Any) -> None:
        if token is not None:
            self.split.weight_grad(token, self.parameters(stage))

    def backward(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> None:
        outputs = with_grad(y)
        if outputs:
            self.split.backward(outputs, grad)

    def gradient(self, stage: int, x: Any) -> Any:
        return tuple(
            torch.zeros_like(t) if t.grad is None else t.grad for t in with_grad(x)
        )

    def send(self, stage: int, kind: str, value: Any, rank: int) -> Any:
        tensors = tensors_of(value)
        if kind == "F":
            shapes = [(s.size, s.dtype) for s in self.outputs[stage].tensors]
            found = [(tuple(t.shape), t.dtype) for t in tensors]
            if shapes != found:
                raise ValueError(
                    f"stage {stage} made {_words(found)}, but its first micro-batch had "
                    f"{_words(shapes)}: all micro-batches of a step need one shape"
                )
        data = [t.detach().contiguous() for t in tensors]
        peer = self.ranks[rank]
        works = [dist.isend(_bytes(t), peer, group=self.group) for t in data]
        # Buffers are kept until the wait.
        return works, data

    def receive(self, stage: int, kind: str, rank: int) -> tuple[Any, Any]:
        if kind == "F":
            value = self.empty(self.inputs[stage])
        else:
            value = self.empty(self.outputs[stage], grads=True)
        tensors, peer = tensors_of(value), self.ranks[rank]
        works = [dist.irecv(_bytes(t), peer, group=self.group) for t in tensors]
        return value, (works, tensors)

    def wait(self, work: Any) -> None:
        for each in work[0]:
            each.wait()


def _bytes(tensor: Any) -> Any:
    """gloo sends no tensors of truth values."""
    return tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor


def _words(shapes: Sequence[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{list(size)} {str(dtype)[6:]}" for size, dtype in shapes)
