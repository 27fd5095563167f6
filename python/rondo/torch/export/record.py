# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compiled graphs once, to see what they call and allocate, and places that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn, Sequence

import torch

from . import libtorch
from .allocations import Recording, parse_recording, plan
from .body import Task
from .build import MissingFunctions, make_program
from .calls import operation_of, place
from .compile import Compiled, operations_of
from .device_library import glue_for
from .layer import Layer
from .library import tensor_line
from .mlir import Exported
from .probe import ProbeMemory, bytes_of
from .refusal import Refusal
from .target import Target


def record(
    unique: Sequence[Exported], folder: Path, with_libtorch: bool
) -> list[str]:
    """Runs each graph once to see what it allocates. Returns the functions that run in
    PyTorch's own library."""
    program = folder / "probe"
    over_libtorch: list[str] = []
    try:
        _make_recorder(unique, over_libtorch, program)
    except MissingFunctions as error:
        over_libtorch = sorted(error.names)
        if not with_libtorch or not all(map(libtorch.has_bridge, over_libtorch)):
            _refuse_functions(unique, error.names, with_libtorch)
        _say_libtorch(unique, error.names)
        _make_recorder(unique, over_libtorch, program)
    for exported in unique:
        for index, (task, done) in enumerate(
            zip(exported.body.tasks, exported.compiled)
        ):
            if done is None:
                continue
            try:
                recordings = [
                    _record_task(program, done, task, exported.layer.target, seed)
                    for seed in (0, 1)
                ]
            except RuntimeError as error:
                raise Refusal(
                    f"layer '{exported.layer.name}': {task.kind} cannot run: {error}"
                ) from None
            if recordings[0] != recordings[1]:
                raise Refusal(
                    f"layer '{exported.layer.name}': {task.kind} allocates other "
                    "tensors in a second run"
                )
            _check_outputs(exported.layer.name, task, recordings[0])
            exported.recordings[index] = recordings[0]
    return over_libtorch


def _make_recorder(
    unique: Sequence[Exported], over_libtorch: Sequence[str], program: Path
) -> None:
    glue = glue_for(unique[0].layer.target, over_libtorch)
    objects = {}
    for exported in unique:
        for done in exported.compiled:
            if done is not None:
                glue.graph(done)
                objects[done.name] = done.path
    make_program(glue.text() + glue.recorder(), list(objects.values()), program)


def _say_libtorch(unique: Sequence[Exported], missing: set[str]) -> None:
    operations = sorted({o for _, found in _operations(unique, missing) for o in found})
    print(
        f"export: {', '.join(operations)}: over libtorch, {libtorch.folder()}, which "
        "programs of this model need",
        file=sys.stderr,
    )


def _operations(
    unique: Sequence[Exported], missing: set[str]
) -> list[tuple[Layer, list[str]]]:
    """Layers that call these functions, and their operations."""
    result = []
    for exported in unique:
        operations = {
            operation
            for compiled in exported.compiled
            if compiled is not None and compiled.functions & missing
            for operation in operations_of(compiled, missing)
        }
        if operations:
            result.append((exported.layer, sorted(operations)))
    return result


def _refuse_functions(
    unique: Sequence[Exported], missing: set[str], with_libtorch: bool
) -> NoReturn:
    names = {m for m in missing if not (with_libtorch and libtorch.has_bridge(m))}
    # Operations that libtorch has are named only if nothing else is missing.
    can_bridge = all(map(libtorch.has_bridge, names))
    for layer, operations in _operations(unique, names):
        module = layer.calls.modules.get(operation_of(f"aten.{operations[0]}"), "")
        how = ", or export with with_libtorch=True" if can_bridge else ""
        raise Refusal(
            f"{place(layer.name, module)} uses {', '.join(operations)}, which "
            f"Rondo's library does not have: write it with other operations{how}"
        ) from None
    raise RuntimeError(f"undefined functions: {', '.join(sorted(missing))}")


def _record_task(
    program: Path, compiled: Compiled, task: Task, target: Target, seed: int
) -> Recording:
    generator = torch.Generator().manual_seed(seed)
    memory = ProbeMemory(
        [tensor_line(placed) for placed in task.inputs],
        [placed.nbytes for placed in task.inputs],
    )
    try:
        for placed, content in zip(task.inputs, memory.contents):
            # Without a GPU kernels do not run.
            if placed.dtype.is_floating_point and not target.is_cuda:
                count = placed.nbytes // placed.dtype.itemsize
                tensor = torch.rand(count, generator=generator, dtype=placed.dtype)
                content.copy_(bytes_of(tensor))
        count = [str(len(task.outputs))] if target.is_cuda else []
        return parse_recording(memory.run(program, "record", compiled.name, *count))
    finally:
        memory.close()


def _check_outputs(layer: str, task: Task, recording: Recording) -> None:
    for index, (placed, output) in enumerate(zip(task.outputs, recording.outputs)):
        found = output.shape, tuple(
            s for s, n in zip(output.strides, output.shape) if n > 1
        )
        wanted = placed.shape, tuple(
            s for s, n in zip(placed.strides, placed.shape) if n > 1
        )
        if found != wanted:
            raise RuntimeError(
                f"layer '{layer}': output {index} of {task.kind} has sizes and strides "
                f"{found}, not {wanted}"
            )


def place_allocations(unique: Sequence[Exported]) -> None:
    """Places the allocations of each task."""
    for exported in unique:
        body = exported.body
        exported.plans = [
            plan(task, recording) if recording else None
            for task, recording in zip(body.tasks, exported.recordings)
        ]
        sizes = [p.workspace if p else 0 for p in exported.plans]
        body.workspace_bytes = max(sizes[:3])
        body.backward_workspace_bytes = max(sizes[3:], default=0)
