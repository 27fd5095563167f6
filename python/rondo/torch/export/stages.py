# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the layers of a PyTorch model as a program's bodies."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Callable, Mapping, Sequence

import torch

from .allocations import plan
from .arguments import check_layers, check_plan
from .body import Task
from .build import cache_folder, make_archive, make_program
from .check import ProbeRunner, check_layer
from .compile import compile_tasks, compiled_task
from .cut import RECOMPUTE
from .data import Data, read_data, resized
from .device_library import glue_for
from .interpret import GraphRunner
from .joint import trace
from .layer import Layer
from .library import Glue
from .mlir import Exported, Stage, model_text
from .model import Model
from .probe import bytes_of
from .record import place_allocations, record
from .refusal import NotRunning, Refusal
from .report import report, write_weights
from .sharing import receive, sharing
from .sizes import Sized, sized_layers, sizes_of
from .target import Target, read_target
from .tasks import divide


def export_stages(
    layers: Mapping[str, torch.nn.Module],
    example: torch.Tensor | Mapping[str, torch.Tensor],
    loss_fn: Callable[..., torch.Tensor],
    targets: torch.Tensor | Mapping[str, torch.Tensor],
    *,
    out: str | os.PathLike[str],
    ranks: int = 2,
    microbatches: int = 8,
    placement: Sequence[int] | None = None,
    schedules: Sequence[str] = ("1f1b", "zb-h1"),
    inputs: Mapping[str, Sequence[str]] | None = None,
    vocab: int | None = None,
    below: Mapping[str, int] | None = None,
    samples: Sequence[int] | None = None,
    cache: str | os.PathLike[str] | None = None,
    recompute: float = RECOMPUTE,
    backward: bool = True,
    with_libtorch: bool = False,
    frozen_are_constants: bool = False,
    device: str = "cpu",
    arch: str | None = None,
    dtype: torch.dtype | None = None,
) -> Model:
    """Compiles the layers of a model, so that Rondo trains it without Python.

    `layers` are modules, in order; each takes what the one before returns, a tensor
    or several. `example` are tokens [samples, tokens] of one micro-batch, `targets`
    as many; `loss_fn(output, targets)` is the mean loss of a micro-batch. For other
    data both are tensors of samples by their names in the files of `--data`: the
    first layer takes those of `example`, in their order, and the loss those of
    `targets`. `below` then says which whole numbers they have, from 0 on.
    `placement` has the rank of each layer; without it layers are divided evenly by
    their measured times. `inputs` names the layers whose outputs a layer takes, if
    these are not just the one before: layers then form a graph. `schedules` are families,
    with arguments as in kfkb:k=2, and search:effort=100. Writes model.mlir, libstages.a,
    init.safetensors and report.json to the folder `out`. Each task is compared with
    eager execution.

    `samples` are other numbers of samples that the layers are compiled for: plans may
    then have micro-batches of these, and replicas that divide a micro-batch into them,
    also with sharded state, if what a sample gives depends on no other.

    What F keeps for the backward: cheap operations are computed again if that takes at
    most `recompute` ns for each KiB less; with 0 none is, with math.inf all are.
    `backward` also compiles I and W as one task, for schedules that run them together.

    With `with_libtorch` operations that Rondo's library does not have run in PyTorch's,
    which the program then opens; it says which.

    With `frozen_are_constants` parameters that are not trained are in the library, not
    among the weights that a program initialises, saves and shards.

    With `device="cuda"` layers are compiled for GPUs of `arch`, such as sm_90, by
    default this machine's; it need not have one. They compute in `dtype`,
    torch.bfloat16 by default or torch.float32, from weights that are kept in fp32.

    Raises Refusal, a ValueError, if a layer is not a fixed graph in fp32 of
    operations that Rondo has.
    """
    target = read_target(device, arch, dtype)
    if target.is_cuda and with_libtorch:
        raise Refusal("with_libtorch=True is for device='cpu'")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise Refusal(f"out='{out}' is a file: name a folder, or remove the file")
    check_layers(layers)
    check_plan(len(layers), ranks, placement, microbatches, schedules)
    if not recompute >= 0:
        raise Refusal(f"recompute is {recompute}; it must be 0 ns or more for each KiB")
    data = read_data(layers, example, targets, vocab, below or {})
    sizes = sizes_of(samples, data.samples)
    # The bits of B are those of I and then W only if a run says so.
    backward = backward and target.runs_here
    folder.mkdir(parents=True, exist_ok=True)
    graphs_folder = Path(cache) if cache is not None else cache_folder()
    found: dict[str, Exported] = {}
    chains: dict[int, list[Layer]] = {}
    prepared: dict[int, list[Exported]] = {}
    for size in sizes:
        try:
            chains[size], sources = _chain(
                layers,
                inputs or {},
                resized(data, size),
                loss_fn,
                frozen_are_constants,
                target,
            )
        except (RuntimeError, ValueError) as error:
            is_refusal = isinstance(error, Refusal) and not isinstance(error, NotRunning)
            if size == data.samples or is_refusal:
                raise
            raise Refusal(
                f"samples has {size}, but the layers do not run on so many: {error}"
            ) from None
        prepared[size] = [
            _prepare(layer, graphs_folder, recompute, backward) for layer in chains[size]
        ]
        _refuse_shared_buffers(chains[size])
    for index, of_sizes in enumerate(zip(*prepared.values())):
        # All sizes of a layer have the same parts.
        if len({tuple((p.name, p.read_by) for p in e.body.parts) for e in of_sizes}) > 1:
            for size, exported in prepared.items():
                exported[index] = _prepare(
                    chains[size][index], graphs_folder, recompute, backward, True
                )
    for exported in prepared.values():
        exported[:] = [found.setdefault(e.name, e) for e in exported]
    chain = chains[data.samples]
    bodies = sized_layers(chains, prepared, data.samples)
    unique = list(found.values())
    graphs = [t for e in unique for t in e.body.tasks if t.module is not None]
    compile_tasks(graphs, graphs_folder, target)
    over_libtorch = record(unique, folder, with_libtorch)
    place_allocations(unique)
    if target.runs_here:
        _check(unique, folder, over_libtorch)
    else:
        (folder / "probe").unlink()
        _check_graphs(unique)
    _write_library(unique, bodies, chain, folder, data, over_libtorch)
    times = [sum(sized.own.times) for sized in bodies]
    if placement is None:
        placement = _divide_evenly(times, ranks)
    placed = [int(rank) for rank in placement]
    write_weights(chain, bodies, folder)
    text = model_text(chain, bodies, data, _stages(sources, placed), microbatches, schedules)
    (folder / "model.mlir").write_text(text)
    return report(chain, bodies, folder, over_libtorch)


def _chain(
    layers: Mapping[str, torch.nn.Module],
    inputs: Mapping[str, Sequence[str]],
    data: Data,
    loss_fn: Callable[..., torch.Tensor],
    frozen_are_constants: bool,
    target: Target,
) -> tuple[list[Layer], list[list[int]]]:
    """The layers, and the indices of those that each reads."""
    sources = _sources(list(layers), inputs)
    shared = sharing(layers, sources, data)
    chain: list[Layer] = []
    outputs: list[list[torch.Tensor]] = []
    for index, (name, module) in enumerate(layers.items()):
        edges = [outputs[s] for s in sources[index]]
        given = [x for edge in edges for x in edge] if edges else data.example
        layer = Layer(name, module, edges, given, shared=shared.parts[index])
        layer.tied = shared.tied.get(index)
        layer.frozen_are_constants = frozen_are_constants
        layer.target = target
        receive(layer, [chain[s] for s in sources[index]])
        if layer.is_first:
            layer.streams = data.example_streams
        if index + 1 == len(layers):
            layer.loss_fn, layer.targets = loss_fn, data.targets
            layer.streams = data.target_streams
        else:
            outputs.append(_run(layer))
        chain.append(layer)
    return chain, sources


def _run(layer: Layer) -> list[torch.Tensor]:
    try:
        return layer.run()
    except Refusal:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        if not layer.target.has_copies or not isinstance(error, RuntimeError):
            given = ", ".join(f"{x.dtype} {tuple(x.shape)}" for x in layer.inputs)
            raise NotRunning(f"layer '{layer.name}' does not run on {given}: {why}") from error
        raise Refusal(
            f"layer '{layer.name}' does not run with weights and inputs in bf16: "
            f"{why}; buffers stay in fp32, so convert them where "
            "they are used, as in self.cos.to(x.dtype), or export with "
            "dtype=torch.float32"
        ) from None


def _refuse_shared_buffers(chain: Sequence[Layer]) -> None:
    """Refuses what forwards of two layers change."""
    owners: dict[int, str] = {}
    for layer in chain:
        for name, buffer in layer.buffers:
            if name not in layer.running:
                continue
            owner = owners.setdefault(id(buffer), f"{layer.name}.{name}")
            if owner != f"{layer.name}.{name}":
                raise Refusal(
                    f"'{owner}' and '{layer.name}.{name}' are one buffer, which both "
                    "forwards change: give each layer its own"
                )


def _sources(names: list[str], inputs: Mapping[str, Sequence[str]]) -> list[list[int]]:
    """The indices of the layers that each layer reads: the one before, but for those
    that `inputs` names."""
    limit = 8
    for name, given in inputs.items():
        before = names[: names.index(name)] if name in names else []
        unknown = [source for source in given if source not in before]
        if name not in names or unknown:
            raise Refusal(
                f"inputs: layer '{name}' takes '{unknown[0]}', which is not a layer "
                "before it"
                if name in names
                else f"inputs: there is no layer '{name}'"
            )
        if not 1 <= len(given) <= limit or len(set(given)) < len(given):
            raise Refusal(
                f"inputs: layer '{name}' takes {len(given)} layers, and may take 1 to "
                f"{limit} different ones"
            )
    if names[0] in inputs:
        raise Refusal(f"inputs: layer '{names[0]}' is the first, which takes the data")
    sources = [
        [names.index(s) for s in inputs[name]] if name in inputs else [i - 1] * (i > 0)
        for i, name in enumerate(names)
    ]
    read = {s for those in sources for s in those}
    for index, name in enumerate(names[:-1]):
        if index not in read:
            raise Refusal(f"inputs: no layer takes the output of '{name}'")
    return sources


def _prepare(
    layer: Layer, cache: Path, recompute: float, backward: bool, coarse_parts: bool = False
) -> Exported:
    """Traces and divides a layer."""
    joint = trace(layer)
    body = divide(layer, joint, recompute, backward, coarse_parts)
    compiled = [
        None if task.module is None else compiled_task(task, cache, layer.target)
        for task in body.tasks
    ]
    described = "|".join(
        [
            *(c.name if c else "" for c in compiled),
            *(repr(t.copies) for t in body.tasks),
            *(repr([p.place for p in (*t.inputs, *t.outputs)]) for t in body.tasks),
            *(repr((p.name, p.read_by, p.nbytes)) for p in body.parts),
            str(len(layer.edges)),
            *(repr((s.name, s.example.shape[1:])) for s in layer.streams),
            *(
                repr((w.stated_name, w.shape, w.offset, w.has_gradient, w.is_running))
                for w in body.weights
            ),
            *(hashlib.sha256(bytes(bytes_of(c).numpy())).hexdigest() for c in body.constants),
        ]
    )
    name = "graph_" + hashlib.sha256(described.encode()).hexdigest()[:12]
    return Exported(name, layer, body, compiled, [None] * len(compiled))


def _add_tasks(glue: Glue, exported: Exported, folder: Path) -> str:
    """Tables of a body's tasks; returns the name of its constants."""
    constants = glue.constants(exported.name, exported.body.constants, folder)
    for task, compiled, planned, recording in zip(
        exported.body.tasks, exported.compiled, exported.plans, exported.recordings
    ):
        glue.task(
            exported.name, exported.body, task, compiled, planned, recording, constants
        )
    return constants


def _objects(unique: Sequence[Exported]) -> list[Path]:
    return list({c.name: c.path for e in unique for c in e.compiled if c}.values())


def _write_library(
    unique: Sequence[Exported],
    bodies: Sequence[Sized],
    chain: Sequence[Layer],
    folder: Path,
    data: Data,
    over_libtorch: Sequence[str],
) -> None:
    """libstages.a."""
    glue = glue_for(chain[0].target, over_libtorch)
    for exported in unique:
        _add_tasks(glue, exported, folder)
    written = set()
    for layer, sized in zip(chain, bodies):
        if sized.name not in written:
            glue.body(sized, layer, data.tokens)
            written.add(sized.name)
    make_archive(glue.text(), _objects(unique), folder / "libstages.a")


def _check(
    unique: Sequence[Exported], folder: Path, over_libtorch: Sequence[str]
) -> None:
    """Compares every body with eager execution, and measures it; leaves out a B that
    does not give the bits of I and W."""
    target = unique[0].layer.target
    glue = glue_for(target, over_libtorch)
    workspaces = {}
    for exported in unique:
        constants = _add_tasks(glue, exported, folder)
        task, recording = exported.body.tasks[2], exported.recordings[2]
        copied = plan(task, recording, in_place=False) if recording else None
        copy = Task("W_copied", task.module, task.inputs, task.outputs, task.copies)
        glue.task(
            exported.name,
            exported.body,
            copy,
            exported.compiled[2],
            copied,
            recording,
            constants,
        )
        workspaces[exported.name] = copied.workspace if copied else 0
    program = folder / "probe"
    main = glue.text() + glue.probe()
    make_program(main, _objects(unique), program, target.options)
    for exported in unique:
        body = exported.body
        planned = body.workspace_bytes
        body.workspace_bytes = max(planned, workspaces[exported.name])
        exported.agreement = check_layer(
            exported.layer, body, ProbeRunner(program, exported.name)
        )
        exported.times = exported.agreement.times
        body.workspace_bytes = planned
        if exported.agreement.backward_is_equal is False:
            body.tasks = body.tasks[:3]
            exported.compiled = exported.compiled[:3]
            body.backward_workspace_bytes = 0
    program.unlink()


def _check_graphs(unique: Sequence[Exported]) -> None:
    """Compares the graphs of each body with eager execution, on the CPU."""
    for exported in unique:
        runner = GraphRunner(exported.body, exported.layer)
        exported.agreement = check_layer(exported.layer, exported.body, runner)
        exported.times = exported.agreement.times
    print(
        "export: kernels are not checked: no GPU has run them; graphs agree with eager "
        "execution on the CPU, and times are estimates",
        file=sys.stderr,
    )


def _divide_evenly(times: Sequence[int], ranks: int) -> list[int]:
    """Ranks of layers in order, so that no rank has much more time than others."""
    total, done = sum(times), 0
    placed: list[int] = []
    for index, time in enumerate(times):
        rank = min(int((done + time / 2) * ranks / max(total, 1)), ranks - 1)
        # Each rank has a layer, and no rank is left out.
        rank = max(rank, ranks - (len(times) - index))
        rank = min(rank, placed[-1] + 1 if placed else 0)
        placed.append(rank)
        done += time
    return placed


def _stages(sources: Sequence[Sequence[int]], placed: Sequence[int]) -> list[Stage]:
    """Stages as long as possible: within one, each layer feeds the next, and no other."""
    readers = [[r for r, s in enumerate(sources) if i in s] for i in range(len(placed))]
    stages: list[Stage] = []
    stage_of: list[int] = []
    for index, rank in enumerate(placed):
        continues = (
            index > 0
            and placed[index - 1] == rank
            and list(sources[index]) == [index - 1]
            and readers[index - 1] == [index]
        )
        if continues:
            stages[-1].end = index + 1
        else:
            feeding = [stage_of[s] for s in sources[index]]
            stages.append(Stage(index, index + 1, rank, feeding))
        stage_of.append(len(stages) - 1)
    return stages
