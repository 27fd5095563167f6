# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of DeepSpeed that the package uses: what the two classes override
and call. Tried with 0.19.8, which is also the oldest that can have the loss on any
rank (_loss_stage_global_rank).

DeepSpeed's own DualPipeVModule and DualPipeVEngine override the same names.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import deepspeed
import torch
from deepspeed.runtime.activation_checkpointing import checkpointing
from deepspeed.runtime.pipe import schedule as instructions
from deepspeed.runtime.pipe.engine import PipelineEngine
from deepspeed.runtime.pipe.module import PipelineModule
from deepspeed.runtime.torch_autocast import autocast_if_enabled

from ..run import Table, check_version

TRIED = ["0.19.8"]
OLDEST = "0.19.8"


def check_client() -> None:
    check_version("DeepSpeed", deepspeed.__version__, TRIED, OLDEST)


class StagedModule(PipelineModule):
    """A PipelineModule with the stages that `table` gives each rank."""

    table: Table
    bounds: list[int] | None
    num_stages: int

    def _partition_layers(self, method: str = "uniform") -> None:
        ranks, self.num_stages = self.num_stages, self.table.num_stages
        self.table.fit(ranks=ranks, of="DeepSpeed's pipeline")
        layers = len(self._layer_specs)
        if layers < self.num_stages:
            raise ValueError(f"{layers} layers, but {self.num_stages} stages")
        if self.bounds is None:
            super()._partition_layers(method)
        else:
            self.parts = list(self.bounds)
        inner = self.parts[1:-1]
        if (
            len(self.parts) != self.num_stages + 1
            or (self.parts[0], self.parts[-1]) != (0, layers)
            or any(a >= b for a, b in zip(self.parts, self.parts[1:]))
        ):
            raise ValueError(
                f"{self.num_stages} stages of {layers} layers cannot begin at {inner}: "
                "each stage needs a layer"
            )
        self.stages = self.table.stages_of(self.stage_id)

    def stage_owner(self, layer_idx: int) -> int:
        """The pipeline rank of a layer."""
        return self.table.placement[super().stage_owner(layer_idx)]

    def _build(self) -> None:
        self.stage_funcs: dict[int, list[Any]] = {}
        self.stage_checkpointable: dict[int, list[bool]] = {s: [] for s in self.stages}
        for stage in self.stages:
            self.forward_funcs: list[Any] = []
            self._set_bounds(self.parts[stage], self.parts[stage + 1])
            super()._build()
            self.stage_funcs[stage] = self.forward_funcs
        self.activate(self.stages[0])

    def activate(self, stage: int) -> None:
        """Makes forward() that of a stage."""
        self.forward_funcs = self.stage_funcs[stage]
        self.is_checkpointable_results = self.stage_checkpointable[stage]
        self._local_start, self._local_stop = self.parts[stage], self.parts[stage + 1]

    def each_stage(self) -> Iterator[int]:
        for stage in self.stages:
            self.activate(stage)
            yield stage

    def _precompute_checkpointable_values(self) -> None:
        for stage in self.each_stage():
            # The parent keeps results by interval, not by stage.
            self.is_checkpointable_results_interval = None
            super()._precompute_checkpointable_values()
            self.stage_checkpointable[stage] = self.is_checkpointable_results

    def save_state_dict(self, *args: Any, **keywords: Any) -> None:
        for _ in self.each_stage():
            super().save_state_dict(*args, **keywords)

    def load_state_dir(self, *args: Any, **keywords: Any) -> None:
        for _ in self.each_stage():
            super().load_state_dir(*args, **keywords)

    def compile(self, *args: Any, **keywords: Any) -> None:
        for stage in self.each_stage():
            super().compile(*args, **keywords)
            self.stage_funcs[stage] = self.forward_funcs

    def parameters_of(self, stage: int) -> list[Any]:
        """Parameters of a stage that require gradients, tied ones too."""
        found: dict[int, Any] = {}
        for function in self.stage_funcs[stage]:
            # A tied layer with a function of its own is a partial of its module.
            for module in (function, *getattr(function, "args", ())):
                if isinstance(module, torch.nn.Module):
                    found.update((id(p), p) for p in module.parameters())
        return [p for p in found.values() if p.requires_grad]


class RunTable(instructions.PipeInstruction):
    """Runs all tasks and messages of a step."""


class _Steps(instructions.PipeSchedule):
    def __init__(self, *steps: Any):
        super().__init__(micro_batches=1, stages=1, stage_id=0)
        self.all = steps

    def steps(self) -> Iterator[list[Any]]:
        yield list(self.all)

    def num_pipe_buffers(self) -> int:
        return 1


# Attributes of an engine that a forward changes.
_OF_STEP = (
    "training_dataloader",
    "data_iterator",
    "batches",
    "microbatch",
    "loss",
    "total_loss",
    "total_additional_losses",
    "agg_additional_losses",
)

# The engine's __init__ asks for first and last rank, not for stages.
_STARTING = object()


class StagedEngine(PipelineEngine):
    """A PipelineEngine that runs a StagedModule. `run_table(forward_only, microbatches)`
    is what runs a step."""

    module: StagedModule
    loss: Any

    def __init__(self, *args: Any, **keywords: Any):
        self.active: Any = _STARTING
        super().__init__(*args, **keywords)
        self.active = None
        self.batches: list[Any] = []
        self.microbatch = 0
        self.offset = 0
        self.is_trial = False
        self.check_job()

    @property
    def table(self) -> Table:
        return self.module.table

    def has_stage(self, stage: int) -> bool:
        """Outside of a task: whether it is on this rank."""
        if self.active is _STARTING or self.active is None:
            return self.table.placement[stage] == self.module.stage_id
        return bool(self.active == stage)

    def is_first_stage(self) -> bool:
        if self.active is _STARTING:
            return bool(super().is_first_stage())
        return self.has_stage(0)

    def is_last_stage(self) -> bool:
        if self.active is _STARTING:
            return bool(super().is_last_stage())
        return self.has_stage(self.table.num_stages - 1)

    @property
    def has_data(self) -> bool:
        return self.has_stage(0) or self.has_stage(self.table.num_stages - 1)

    def set_dataloader(self, loader: Any) -> None:
        if self.has_data:
            self.training_dataloader = loader
            self.data_iterator = iter(loader)

    def set_dataiterator(self, iterator: Any) -> None:
        if self.has_data:
            self.training_dataloader = None
            self.data_iterator = iterator

    def _loss_stage_global_rank(self) -> int:
        rank: int = self.grid.stage_to_global(self.table.loss_rank)
        return rank

    def _backward_prologue_per_tensor(self, grad: Any) -> Any:
        # The loss is scaled once, before its backward.
        return grad

    def _train_schedule(self) -> Any:
        return _Steps(
            RunTable(forward_only=False, microbatches=self.micro_batches),
            instructions.ReduceTiedGrads(),
            instructions.ReduceGrads(),
            instructions.OptimizerStep(),
        )

    def _inference_schedule(self, micro_batches: int) -> Any:
        return _Steps(RunTable(forward_only=True, microbatches=micro_batches))

    def _exec_table(self, forward_only: bool, microbatches: int) -> None:
        if self.has_data:
            self.batches = [super(StagedEngine, self)._next_batch() for _ in range(microbatches)]
        if self.zero_optimization():
            # As its hook before a backward would say.
            self.optimizer.set_gradient_accumulation_boundary(False)
        self._running_engine_backward = True
        try:
            self.run_table(forward_only, microbatches)
        finally:
            self._running_engine_backward = False
            self.batches = []
            for values in self.pipe_buffers.values():
                values[0] = None
        self.offset += microbatches

    def pipeline_group(self) -> Any:
        return self.grid.get_pipe_parallel_group()

    @contextlib.contextmanager
    def trial(self, data_iter: Any, microbatches: int) -> Iterator[None]:
        """While stages run without a step: with these data, and without a trace in the
        engine."""
        kept = {name: getattr(self, name) for name in _OF_STEP if hasattr(self, name)}
        for name, value in kept.items():
            if isinstance(value, dict):
                kept[name] = dict(value)
        training = self.module.training
        self.module.train()
        self._reserve_pipe_buffers(1)
        self.total_loss = self.total_additional_losses = None
        if self.has_data:
            self.set_dataiterator(data_iter)
            self.batches = [super(StagedEngine, self)._next_batch() for _ in range(microbatches)]
        self._running_engine_backward = self.is_trial = self._compute_loss = True
        self.fwd_outputs: list[Any] = []
        try:
            yield
        finally:
            self._running_engine_backward = self.is_trial = False
            self.module.train(training)
            for values in self.pipe_buffers.values():
                for place in range(len(values)):
                    values[place] = None
            for name, value in kept.items():
                setattr(self, name, value)

    def _next_batch(self) -> Any:
        return self.batches[self.microbatch]

    @contextlib.contextmanager
    def stage(self, stage: int, microbatch: int) -> Iterator[None]:
        """While a stage runs a micro-batch."""
        self.active, self.microbatch = stage, microbatch
        self.module.activate(stage)
        # Parts of the seeds of layers and of checkpoints.
        self.module.micro_offset = self.offset + microbatch
        try:
            yield
        finally:
            self.active = None

    def load(self, stage: int, x: Any) -> None:
        if stage == 0 or stage == self.table.num_stages - 1:
            self._exec_load_micro_batch(0)
        if stage > 0:
            self.pipe_buffers["inputs"][0] = x

    def forward_stage(self, stage: int, microbatch: int, x: Any) -> Any:
        """Output of a stage; of the last one the loss, which is also added up."""
        with self.stage(stage, microbatch):
            self.load(stage, x)
            self._exec_forward_pass(0)
            is_last = stage == self.table.num_stages - 1
            y = self.loss if is_last else self.pipe_buffers["outputs"][0]
            for values in self.pipe_buffers.values():
                values[0] = None
            if is_last and isinstance(y, torch.Tensor):
                # Not its graph.
                self.loss = y.detach()
            return y

    def sample_stage(self, stage: int, x: Any) -> Any:
        """Output of a stage, without a trace in the engine."""
        with self.stage(stage, 0):
            self.load(stage, x)
            inputs = self.pipe_buffers["inputs"][0]
            buffers = [(b, b.clone()) for b in self.module.buffers()]
            with autocast_if_enabled(self):
                y = self.module(inputs)
            for buffer, before in buffers:
                buffer.data.copy_(before)
            return y

    def scaled(self, loss: Any) -> Any:
        """The loss whose gradients add up to those of the mean."""
        loss = loss / self.gradient_accumulation_steps()
        if hasattr(self.optimizer, "scale_if_loss"):
            loss = self.optimizer.scale_if_loss(loss)
        return loss

    def before_weight(self) -> None:
        if self.using_bf16_optimizer:
            self.optimizer.clear_lp_grads(set_to_none=True)

    def after_weight(self) -> None:
        """Adds low precision gradients to those of high precision."""
        if self.using_bf16_optimizer and not self.is_trial:
            self.optimizer.update_hp_grads(clear_lp_grads=False)
            self.optimizer.clear_lp_grads(set_to_none=True)

    def has_own_checkpoints(self) -> bool:
        """Whether activations are checkpointed by one of DeepSpeed's functions."""
        own = (checkpointing.checkpoint, checkpointing.non_reentrant_checkpoint)
        module = self.module
        return module.activation_checkpoint_interval > 0 and (
            module.activation_checkpoint_func in own
        )

    def check_job(self) -> None:
        """Raises ValueError for what would be wrong."""
        raise NotImplementedError

    def run_table(self, forward_only: bool, microbatches: int) -> None:
        raise NotImplementedError

    def refusals(self) -> list[tuple[bool, str]]:
        """Settings that do not go with a table, and why."""
        config = self._config
        zero = config.zero_config
        return [
            (self.is_pipe_partitioned or self.is_grad_partitioned,
             "pipe_partitioned and grad_partitioned change what stages send"),
            (self.dynamic_shape, "dynamic_shape: shapes are exchanged once"),
            (self.fp16_enabled(), "fp16 was not tried: use bf16"),
            (self.using_bf16_optimizer and config.bfloat16_config.immediate_grad_update,
             "bf16.immediate_grad_update: its hooks do not run in W"),
            (bool(self.zero_optimization() and zero.overlap_comm),
             "zero_optimization.overlap_comm: its hooks do not run in W"),
        ]  # fmt: skip

    def clips_by_first_rank(self) -> bool:
        """Whether gradients are clipped by the norm of the parameters of pipe rank 0
        alone, as DeepSpeed does without ZeRO and bf16."""
        is_plain = not (self.zero_optimization() or self.using_bf16_optimizer)
        return is_plain and self.gradient_clipping() > 0 and self.is_pipe_parallel

    _INSTRUCTION_MAP: dict[Any, Callable[..., None]] = {
        **PipelineEngine._INSTRUCTION_MAP,
        RunTable: _exec_table,
    }


@contextlib.contextmanager
def engine_class(cls: type) -> Iterator[None]:
    """Makes deepspeed.initialize construct engines of a class."""
    before = deepspeed.PipelineEngine
    deepspeed.PipelineEngine = cls
    try:
        yield
    finally:
        deepspeed.PipelineEngine = before
