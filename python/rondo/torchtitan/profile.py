# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the stages of a torchtitan job and searches a schedule for them."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any, Callable, Sequence

import torch.distributed as dist

from ..run import Table
from ..run import profile as runs
from ..run.tensors import tensors_of
from ..torch import private as torch_private
from ..torch.host import profile_host
from . import private
from .config import microbatches_of, use


class _Samples(runs.Samples):
    """Also of the bytes that a stage's first forward holds."""

    def __init__(self, device: Any, stages: Sequence[Any]):
        super().__init__(device)
        self.modules = {stage.stage_index: stage.submod for stage in stages}
        self.last = stages[0].num_stages - 1
        for stage, module in self.modules.items():
            trained = [p for p in module.parameters() if p.requires_grad]
            self.trained[stage] = sum(p.numel() * p.element_size() for p in trained)

    def task(self, stage: int, kind: str, run: Callable[[], Any]) -> Any:
        is_first = kind == "F" and stage not in self.held
        if is_first:
            # The time of this one is that of a warm-up.
            return self._count(stage, run)
        self.synchronize()
        begin = time.perf_counter_ns()
        found = run()
        self.synchronize()
        took = time.perf_counter_ns() - begin
        if kind != "L":
            self.action(stage, kind, 0, took)
        elif stage == self.last and (stage, "F") in self.tasks:
            self.tasks[stage, "F"][-1] += took
        return found

    def _count(self, stage: int, run: Callable[[], Any]) -> Any:
        module = self.modules[stage]
        with runs.Held([*module.parameters(), *module.buffers()]) as held:
            found = run()
        self.held[stage] = held.bytes(*tensors_of(found))
        if stage < self.last:
            self.outputs[stage] = runs.bytes_of(found)
        return found


def profile(
    config: Any,
    placement: Sequence[int],
    *,
    steps: int = 3,
    seconds: float = 2,
    memory_bytes: int | None = None,
) -> runs.Found:
    """Costs of the stages of a job, of its links and host, and a schedule searched for
    them.

    `config` is a Trainer.Config, in processes that are there for this alone: the trainer
    is built, and runs `steps` steps after one to warm up, with runs.MICROBATCHES
    micro-batches each. `placement` has the rank of each stage. The number of
    micro-batches is the configuration's. The search takes `seconds`; `memory_bytes` caps
    the activations of each rank.
    """
    private.check_client()
    microbatches, size = microbatches_of(config)
    trial = Table.plain(placement, runs.MICROBATCHES, whole=runs.WHOLE)
    config.training.steps = steps + 1
    config.checkpoint.enable = config.validator.enable = False
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        given = os.path.join(folder, "given.csv")
        with open(given, "w", encoding="utf-8") as file:
            file.write(trial.tasks_csv())
        path = os.path.join(folder, "trial.csv")
        use(config, given, csv=path, microbatch_size=size)
        trainer = config.build()
        stages = torch_private.stages_of(trainer.pp_schedule)
        samples = _Samples(trainer.device, stages)
        torch_private.watch(trainer.pp_schedule, samples.task)
        private.after_first_step(trainer, samples.clear)
        trainer.train()
    group = torch_private.process_group_of(stages[0])
    rank, _ = torch_private.group_of(stages[0])
    sizes = [sum(samples.outputs.get(s, (0, 0))[:1]) for s in samples.modules]
    message: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(message, max(sizes))
    host = profile_host(trainer.device, message_bytes=max(max(message), 4))
    problem = runs.problem_of(
        placement,
        microbatches,
        rank,
        samples,
        ranks=dist.get_process_group_ranks(group),
        group=group,
        host=host,
        name="torchtitan",
        memory_bytes=memory_bytes,
    )
    found = runs.search(problem, trial, seconds)
    trainer.close()
    return found
