# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the stages of an engine and searches a schedule for them."""

from __future__ import annotations

from typing import Any

from ..run import Table
from ..run import profile as runs
from .engine import Hooks, PipelineEngine


def profile(
    engine: PipelineEngine,
    data_iter: Any,
    *,
    repeats: int = 3,
    seconds: float = 2,
    memory_bytes: int | None = None,
) -> runs.Found:
    """Costs of the engine's stages, links and host, and a schedule searched for them.

    All processes call it together, between two steps. It takes runs.MICROBATCHES
    micro-batches of the iterator, and leaves the engine, its weights and random numbers
    as they were. The search takes `seconds`; `memory_bytes` caps the activations of each
    rank. engine.use(found.schedule) then runs the schedule.
    """
    table: Table = engine.table
    rank = engine.module.stage_id
    with engine.trial(data_iter, runs.MICROBATCHES):

        def make(trial: Table) -> Hooks:
            engine.check_split(trial)
            hooks = Hooks(engine, trial)
            hooks.exchange_shapes()
            return hooks

        hooks, samples = runs.measure(make, table.placement, [engine.module], repeats)
    problem = runs.problem_of(
        table.placement,
        table.microbatches,
        rank,
        samples,
        name="deepspeed",
        memory_bytes=memory_bytes,
        ranks=hooks.ranks,
        group=engine.pipeline_group(),
    )
    return runs.search(problem, table, seconds)
