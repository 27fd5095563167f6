# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a schedule in torch.distributed.pipelining."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, Sequence

import torch
from torch.distributed.pipelining import PipelineStage

from .. import command
from ..problem import Problem
from ..run import Table
from ..schedule import Schedule
from . import cells, private


# The newest PyTorch that `rondo export` knows.
NEWEST = (2, 15)


def placement(shape: str, ranks: int, chunks: int = 1) -> list[int]:
    """The rank of each stage. `shape` is "loop" (rank 0 to the last, again and
    again; linear with one chunk) or "v" (there and back)."""
    there = list(range(ranks))
    back = there[::-1] if shape == "v" else there
    if shape not in ("loop", "v"):
        raise ValueError(f'the shape is "loop" or "v", not {shape!r}')
    return [rank for chunk in range(chunks) for rank in (back if chunk % 2 else there)]


def make_stages(
    modules: Sequence[torch.nn.Module],
    placement: Sequence[int],
    device: torch.device | str,
    group: Any = None,
) -> list[PipelineStage]:
    """PyTorch's stages of this process. `modules` are those of all stages, of which
    only this rank's are used; `placement` is the rank of each."""
    if len(modules) != len(placement):
        raise ValueError(f"{len(modules)} modules, but {len(placement)} are placed")
    rank = torch.distributed.get_rank(group)
    return [
        PipelineStage(
            modules[stage], stage, len(placement), torch.device(device), group=group
        )
        for stage, replica in enumerate(placement)
        if replica == rank
    ]


def runtime(
    stages: Sequence[PipelineStage],
    schedule: Schedule | str | os.PathLike[str],
    loss_fn: Callable[..., torch.Tensor],
    *,
    problem: Problem | None = None,
    messages: bool = False,
    pad: bool = False,
    loss_is_share: bool = False,
    **options: Any,
) -> Any:
    """PyTorch's pipeline runtime, which runs `schedule` when its `step` is called.

    `stages` are this process's, by stage. `schedule` is a Schedule or the path of a
    CSV file that `rondo export torch-csv` wrote; `problem` is needed for a Schedule
    that was read from a file. `loss_fn(output, target)` is the mean over a
    micro-batch: it is divided by their number, so that losses and gradients add up
    to those of the whole batch. With `messages` these are placed by Rondo, as early as
    they can be sent, instead of by PyTorch: only if one in-order queue a rank, as NCCL
    has, is proved to end; else RondoError or TableError. A file is then one of `rondo
    export torch-csv-comms` for this version of PyTorch.

    If micro-batches differ, the batch must have them in the order of
    `Schedule.data_order()`, and all need one shape: a schedule whose messages differ is refused, unless `pad` gives
    every micro-batch the largest size. With `loss_is_share` the results of `loss_fn`
    add up to the loss of the batch, such as sums over tokens divided by the tokens of
    the batch, and are not divided by the number of micro-batches. Options go to PyTorch's runtime. Raises ValueError
    if these stages are not those of the schedule on this rank.
    """
    if private.version() < (2, 7):
        raise RuntimeError(
            f"schedules need PyTorch 2.7 or later, and this is {torch.__version__}"
        )
    if options.pop("scale_grads", False):
        raise ValueError("scale_grads is not supported: the loss is scaled instead")
    if isinstance(schedule, Schedule):
        where = f"the schedule of {schedule.problem!r}"
        version = "{}.{}".format(*min(private.version(), NEWEST))
        if messages:
            text = command.export(
                "torch-csv-comms",
                schedule,
                problem,
                torch=version,
                messages="early",
                pad=pad,
            )
        else:
            text = cells.csv_of(schedule, problem, version, pad)
    elif pad:
        raise ValueError("pad needs a Schedule: give --pad to `rondo export torch-csv`")
    else:
        where = os.fspath(schedule)
        text = cells.read_csv(schedule)
    tasks = text
    if messages:
        table = Table.from_csv(text, where)
        table.check(queues="rank")
        tasks = table.tasks_csv()
    rows = cells.Rows(tasks, where)
    _check_stages(list(stages), rows, where)
    microbatches = rows.microbatches

    def share_of_loss(*arguments: Any, **keywords: Any) -> torch.Tensor:
        loss = loss_fn(*arguments, **keywords)
        return loss if loss_is_share else loss / microbatches

    format = "compute_comms" if messages else "compute_only"
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        path = os.path.join(folder, "schedule.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        found = private.load_runtime(
            list(stages), microbatches, share_of_loss, path, format, **options
        )
    if not {"args_chunk_spec", "kwargs_chunk_spec"} & options.keys():
        _check_rows(found, microbatches)
    return found


def _check_rows(runtime: Any, microbatches: int) -> None:
    """Lets `step` refuse a batch that PyTorch would cut into parts of unequal size."""
    step = runtime.step

    def checked_step(*arguments: Any, target: Any = None, **options: Any) -> Any:
        for value in (*arguments, target):
            rows = len(value) if isinstance(value, torch.Tensor) and value.dim() else 0
            if rows % microbatches:
                raise ValueError(
                    f"a batch of {rows} rows does not divide by the schedule's "
                    f"{microbatches} micro-batches"
                )
        return step(*arguments, target=target, **options)

    runtime.step = checked_step


def _check_stages(stages: list[Any], rows: cells.Rows, where: str) -> None:
    if not stages:
        raise ValueError("this process has no stage; every rank of a schedule has one")
    rank, size = private.group_of(stages[0])
    if size != len(rows.stages):
        raise ValueError(
            f"{where} has {len(rows.stages)} ranks, but the process group has {size}"
        )
    for stage in stages:
        if stage.num_stages != rows.num_stages:
            raise ValueError(
                f"{where} has {rows.num_stages} stages, but stage {stage.stage_index} "
                f"was made as one of {stage.num_stages}"
            )
    given = sorted(stage.stage_index for stage in stages)
    if given != rows.stages[rank]:
        raise ValueError(
            f"rank {rank} has {_names(rows.stages[rank])} in {where}, but was given "
            f"{_names(given)}: place the modules as the schedule does"
        )


def _names(stages: list[int]) -> str:
    word = "stage" if len(stages) == 1 else "stages"
    return f"{word} {', '.join(map(str, stages))}"
