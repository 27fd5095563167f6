# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An engine of DeepSpeed that runs a schedule."""

from __future__ import annotations

import warnings
from typing import Any

import deepspeed

from ..problem import Problem
from ..run import Table, run
from ..run.tensors import TensorHooks
from . import private
from .module import PipelineModule


class Hooks(TensorHooks):
    def __init__(self, engine: PipelineEngine, table: Table):
        ranks = [engine.grid.stage_to_global(r) for r in range(table.num_ranks)]
        super().__init__(
            table,
            engine.module.stage_id,
            ranks=ranks,
            device=engine.device,
            split=engine.module.split,
        )
        self.engine = engine
        self.last = table.num_stages - 1
        self.of_stage = {s: engine.module.parameters_of(s) for s in engine.module.stages}

    def parameters(self, stage: int) -> list[Any]:
        return self.of_stage[stage]

    def run_sample(self, stage: int, x: Any) -> Any:
        return self.engine.sample_stage(stage, x)

    def forward(self, stage: int, microbatch: int, x: Any) -> Any:
        y = self.engine.forward_stage(stage, microbatch, x)
        is_loss = stage == self.last and self.engine.module.training
        return self.engine.scaled(y) if is_loss else y

    # Checkpoints run layers of the module's active stage again.

    def input_grad(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> Any:
        self.engine.module.activate(stage)
        token = super().input_grad(stage, microbatch, y, grad, x)
        if self.engine.module.split == "store":
            # All gradients but those of linear layers are there.
            self.engine.after_weight()
        return token

    def weight_grad(self, stage: int, microbatch: int, token: Any) -> None:
        self.engine.module.activate(stage)
        super().weight_grad(stage, microbatch, token)

    def backward(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> None:
        self.engine.module.activate(stage)
        super().backward(stage, microbatch, y, grad, x)

    def after_weight(self, stage: int, microbatch: int) -> None:
        self.engine.after_weight()


class PipelineEngine(private.StagedEngine):
    """Made by initialize()."""

    module: PipelineModule

    def check_job(self) -> None:
        self.table.fit(
            microbatches=self.gradient_accumulation_steps(),
            of="DeepSpeed (gradient_accumulation_steps)",
        )
        for is_set, why in self.refusals():
            if is_set:
                raise ValueError(f"cannot run a schedule with {why}")
        self.check_checkpoints()
        if self.clips_by_first_rank():
            warnings.warn(
                "without ZeRO and bf16 DeepSpeed clips by the gradients of pipe rank 0 "
                "alone, so results depend on the placement: set gradient_clipping to 0, "
                "or use ZeRO-1",
                stacklevel=2,
            )
        # Keys: whether it is an evaluation, and the number of micro-batches.
        self._hooks: dict[tuple[bool, int], Hooks] = {}

    def check_checkpoints(self) -> None:
        self.check_split(self.table)

    def check_split(self, table: Table) -> None:
        """Raises ValueError unless the stages can run the I and W of a table."""
        is_split = any(table.has_split_backwards(s) for s in self.module.stages)
        if self.has_own_checkpoints() and is_split and self.module.split == "walk":
            raise ValueError(
                "DeepSpeed's activation checkpoints do not go with I and W by "
                'split="walk": use split="store", or whole backwards'
            )

    def run_table(self, forward_only: bool, microbatches: int) -> None:
        key = forward_only, microbatches
        if key not in self._hooks:
            table = self.table
            if forward_only:
                is_own = microbatches == table.microbatches
                table = (
                    table.forward_only()
                    if is_own
                    else Table.forwards(table.placement, microbatches)
                )
            hooks = Hooks(self, table)
            hooks.exchange_shapes()
            self._hooks[key] = hooks
        hooks = self._hooks[key]
        if not forward_only:
            # An interval may have been set since the last step.
            self.check_checkpoints()
            self.before_weight()
        run(hooks.table, hooks.rank, hooks, forward_only=forward_only)

    def use(self, schedule: Any, *, problem: Problem | None = None) -> None:
        """From the next step on runs another schedule with the same placement. All
        processes call it together."""
        table = Table.of(schedule, problem)
        table.check()
        if table.placement != self.table.placement:
            raise ValueError(
                f"{table.name} places the stages on ranks {table.placement}, but the "
                f"model was built for {self.table.placement}: make a PipelineModule with it"
            )
        object.__setattr__(self.module, "table", table)
        self.check_job()

    def reset_activation_shape(self) -> None:
        """To be called on all ranks before the shapes of micro-batches change."""
        super().reset_activation_shape()
        self._hooks.clear()


def initialize(*, model: PipelineModule, **options: Any) -> Any:
    """deepspeed.initialize, with the same options and results, for a PipelineModule of
    this package."""
    if not isinstance(model, PipelineModule):
        raise TypeError("model must be a rondo.deepspeed.PipelineModule")
    with private.engine_class(PipelineEngine):
        return deepspeed.initialize(model=model, **options)
