# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocations of a graph's run, and the place of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from .body import Task, aligned


@dataclass
class Allocation:
    """An allocation of a recorded run; times count allocations and releases."""

    size: int
    begin: int
    end: int


@dataclass
class Output:
    """An output of a recorded run: in an allocation, or, with -2 - i, in input i."""

    source: int
    offset: int
    dtype: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Recording:
    """The allocations and the outputs of a graph's run, in the order of its calls."""

    allocations: list[Allocation] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)


def parse_recording(text: str) -> Recording:
    """Reads what `record` of a probe prints (runtime/torch/probe.cpp)."""
    recording = Recording()
    for line in text.splitlines():
        kind, *words = line.split()
        numbers = [int(w) for w in words]
        if kind == "allocation":
            recording.allocations.append(Allocation(*numbers))
        elif kind == "output":
            source, offset, dtype, dims = numbers[:4]
            recording.outputs.append(
                Output(
                    source,
                    offset,
                    dtype,
                    tuple(numbers[4 : 4 + dims]),
                    tuple(numbers[4 + dims : 4 + 2 * dims]),
                )
            )
    return recording


@dataclass
class Plan:
    """The place of each allocation, and the bytes of the workspace."""

    places: list[tuple[str, int, int]]
    workspace: int


def plan(task: Task, recording: Recording, in_place: bool = True) -> Plan:
    """Places allocations: an output's where the output belongs, others in the
    workspace, the largest first at the lowest free offset. O(n^2) for n allocations.
    Without `in_place`, outputs too lie in the workspace and are copied."""
    places: dict[int, tuple[str, int, int]] = {}
    for placed, output in zip(task.outputs, recording.outputs):
        if not in_place or output.source < 0 or output.offset != 0:
            continue
        # F may still read what it replaces, and may not replace it in every run.
        if placed.place.space == "running_weights":
            continue
        allocation = recording.allocations[output.source]
        if allocation.size == placed.nbytes and output.source not in places:
            place = placed.place
            places[output.source] = (place.space, place.index, place.offset)
    others = [k for k in range(len(recording.allocations)) if k not in places]
    others.sort(key=lambda k: -recording.allocations[k].size)
    laid: list[tuple[int, int, Allocation]] = []
    size = 0
    for k in others:
        allocation = recording.allocations[k]
        begin = _lowest(allocation, laid)
        laid.append((begin, begin + aligned(allocation.size), allocation))
        places[k] = ("workspace", 0, begin)
        size = max(size, begin + aligned(allocation.size))
    return Plan([places[k] for k in range(len(recording.allocations))], size)


def _lowest(
    allocation: Allocation, laid: Sequence[tuple[int, int, Allocation]]
) -> int:
    """The lowest offset that no allocation has at the same time."""

    def overlaps(other: Allocation) -> bool:
        end = float("inf") if allocation.end < 0 else allocation.end
        other_end = float("inf") if other.end < 0 else other.end
        return allocation.begin < other_end and other.begin < end

    begin = 0
    for low, high, other in sorted(laid, key=lambda entry: entry[0]):
        if not overlaps(other) or high <= begin:
            continue
        if low >= begin + aligned(allocation.size):
            break
        begin = high
    return begin
