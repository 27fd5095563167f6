# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of DeepSpeed whose stages are those of a schedule."""

from __future__ import annotations

import os
from typing import Any, Sequence

import torch

from ..problem import Problem
from ..run import Table
from ..run.store import defer_linear
from ..schedule import Schedule
from . import private


class PipelineModule(private.StagedModule):
    """deepspeed.pipe.PipelineModule with the stages of a schedule. Each rank builds the
    layers of all its stages.

    `schedule` is a Schedule, a file of one, or a file of `rondo export torch-csv-comms`;
    `problem` is needed for a schedule that was read from a file. Layers are cut into
    stages by DeepSpeed's `partition_method`, or as `bounds` says: the first layer of
    each stage, and the number of layers. `split` is how I and W are separated:

    - "walk": by PyTorch's walk over the graph. For layers of plain operations.
    - "store": each torch.nn.Linear leaves its weight gradient for W; all other gradients
      are computed in I. For layers with custom functions, and for reentrant activation
      checkpoints.

    Other options are those of deepspeed.pipe.PipelineModule; `num_stages` there is the
    number of pipeline ranks, by default the schedule's.
    """

    def __init__(
        self,
        layers: Any,
        schedule: Schedule | Table | str | os.PathLike[str],
        *,
        problem: Problem | None = None,
        bounds: Sequence[int] | None = None,
        split: str = "walk",
        num_stages: int | None = None,
        **options: Any,
    ):
        private.check_client()
        if split not in ("walk", "store"):
            raise ValueError(f'split is "walk" or "store", not {split!r}')
        table = Table.of(schedule, problem)
        table.check()
        # Before torch.nn.Module's __init__, which the parent calls first.
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "bounds", None if bounds is None else list(bounds))
        object.__setattr__(self, "split", split)
        if "topology" not in options:
            options["num_stages"] = table.num_ranks if num_stages is None else num_stages
        super().__init__(layers, **options)
        if split == "store":
            for functions in self.stage_funcs.values():
                for function in functions:
                    if isinstance(function, torch.nn.Module):
                        defer_linear(function)
