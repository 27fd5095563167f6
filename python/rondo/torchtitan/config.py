# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A schedule in the configuration of a torchtitan job."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, Sequence

from ..fields import write_file
from ..problem import Problem
from ..schedule import Schedule
from ..torch import cells
from . import private


def use(
    config: Any,
    schedule: Schedule | str | os.PathLike[str],
    *,
    problem: Problem | None = None,
    csv: str | os.PathLike[str] = "schedule.csv",
    modules: Sequence[Sequence[str]] | None = None,
    microbatch_size: int | None = None,
) -> Any:
    """Changes a Trainer.Config so that the job runs a schedule, and returns it.

    To be called in the function that makes the configuration, on all ranks. `schedule`
    is a Schedule or a CSV file of `rondo export torch-csv`; `problem` is needed for a
    Schedule that was read from a file. `csv` is where torchtitan's file is written.
    `modules` has the names of each stage's modules; without it those of the
    configuration are taken, or as even a division as torchtitan makes.
    `microbatch_size` is by default the local batch's part.

    With a chunked loss, I and W of the last stage become whole backwards: torchtitan
    0.3.0 would train norm.weight without a gradient. Raises ValueError for selective
    activation checkpoints with I and W.
    """
    private.check_client()
    if isinstance(schedule, Schedule):
        where = f"the schedule of {schedule.problem!r}"
        text = cells.csv_of(schedule, problem, "2.15")
    else:
        where = os.fspath(schedule)
        text = cells.read_csv(schedule)
    rows = cells.Rows(text, where)
    placement = [0] * rows.num_stages
    for rank, stages in enumerate(rows.stages):
        for stage in stages:
            placement[stage] = rank
    is_split = re.search(r"\dI\d", text) is not None
    if is_split and private.has_selective_checkpoints(config):
        raise ValueError(
            f"{where} has I and W, which selective activation checkpoints cannot run: "
            "set activation_checkpoint to FullAC.Config() or None"
        )
    last = rows.num_stages - 1
    splits_last = re.search(rf"(?:^|[,\s]){last}I\d", text) is not None
    if splits_last and private.has_chunked_loss(config):
        text = whole_backwards(text, last)
        warnings.warn(
            f"{where}: stage {last} runs whole backwards, since a chunked loss with I and "
            "W leaves norm.weight without a gradient in torchtitan 0.3.0; the predicted "
            "time changes. A plain CrossEntropyLoss needs no such change",
            stacklevel=2,
        )
    _set_batch(config, rows.microbatches, microbatch_size, where)
    parallelism = config.parallelism
    parallelism.pipeline_parallel_degree = len(rows.stages)
    parallelism.pipeline_parallel_schedule_csv = os.fspath(csv)
    parallelism.pipeline_parallel_schedule = name_of(placement)
    if modules is not None:
        parallelism.module_fqns_per_model_part = [list(names) for names in modules]
    if parallelism.module_fqns_per_model_part is None:
        parallelism.module_fqns_per_model_part = private.even_modules(config, rows.num_stages)
    count = len(parallelism.module_fqns_per_model_part)
    if count != rows.num_stages:
        raise ValueError(
            f"{where} has {rows.num_stages} stages, but module_fqns_per_model_part has "
            f"{count} lists"
        )
    config.training.disable_cuda_graphs = True
    private.place(config, placement)
    write_file(csv, text)
    return config


def name_of(placement: Sequence[int]) -> str:
    """The name of a schedule whose stages torchtitan takes for these: one stage a rank,
    or the loss on rank 0, or on the last rank."""
    ranks = 1 + max(placement)
    if len(placement) == ranks:
        return "1F1B"
    if placement[-1] == 0:
        return "ZBVZeroBubble"
    if placement[-1] != ranks - 1:
        warnings.warn(
            f"the loss is on pipeline rank {placement[-1]}, but torchtitan logs that of "
            "rank 0 or of the last rank: it will log -1",
            stacklevel=3,
        )
    return "Interleaved1F1B"


def whole_backwards(text: str, stage: int) -> str:
    """A file whose stage has B instead of I, and no W."""
    rows = []
    for line in text.splitlines():
        found = []
        for cell in line.split(","):
            if re.fullmatch(rf"\s*{stage}W\d+\s*", cell):
                continue
            found.append(re.sub(rf"^(\s*{stage})I(?=\d+\s*$)", r"\1B", cell))
        rows.append(",".join(found))
    return "\n".join(rows) + "\n"


def microbatches_of(config: Any) -> tuple[int, int]:
    """The number of micro-batches of a step, and the size of one."""
    training, parallelism = config.training, config.parallelism
    size = getattr(parallelism, "pipeline_parallel_microbatch_size", None)
    if size is None:
        raise ValueError("profiles were tried with torchtitan 0.3.0 alone")
    if training.local_batch_size % size:
        raise ValueError(
            f"pipeline_parallel_microbatch_size {size} does not divide local_batch_size "
            f"{training.local_batch_size}"
        )
    return training.local_batch_size // size, size


def _set_batch(config: Any, microbatches: int, size: int | None, where: str) -> None:
    training, parallelism = config.training, config.parallelism
    if hasattr(parallelism, "num_pp_microbatches"):
        # After 0.3.0: not tried.
        if size is None:
            raise ValueError("this version of torchtitan needs microbatch_size")
        parallelism.num_pp_microbatches = microbatches
        training.num_tokens_per_microbatch_per_dp_rank = size * training.seq_len
        return
    if size is None:
        if training.local_batch_size % microbatches:
            raise ValueError(
                f"{where} has {microbatches} micro-batches, which do not divide the local "
                f"batch of {training.local_batch_size}: give microbatch_size"
            )
        size = training.local_batch_size // microbatches
    parallelism.pipeline_parallel_microbatch_size = size
    training.local_batch_size = size * microbatches
