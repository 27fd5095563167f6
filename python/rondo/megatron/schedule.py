# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A schedule that replaces Megatron Core's own."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from ..problem import Problem
from ..run import Table, run
from ..run.tensors import Shape, Shapes, TensorHooks
from ..schedule import Schedule
from . import private
from .chunks import TiedEmbedding, check_chunks


class Data:
    """Gives the chunks of a rank their micro-batches by index. Each forward takes at
    most one. Iterators that are one object are read once for all their chunks."""

    def __init__(self, iterators: list[Any]):
        self.iterators = iterators
        self.found: dict[int, list[Any]] = {id(i): [] for i in iterators}

    def at(self, chunk: int, microbatch: int) -> Any:
        source = self.iterators[chunk]
        return None if source is None else self._one(source, microbatch)

    def _one(self, source: Any, microbatch: int) -> Any:
        # Read when it is asked for: other chunks may not ask.
        found = self.found[id(source)]
        while len(found) <= microbatch:
            found.append(next(source))
        yield found[microbatch]


class Hooks(TensorHooks):
    def __init__(self, step: Any, table: Table, chunks: list[Any], split: str):
        group = private.pipeline_group()
        ranks = dist.get_process_group_ranks(group)
        device = next(chunks[0].parameters()).device
        super().__init__(
            table, group.rank(), ranks=ranks, group=group, device=device, split=split
        )
        self.step = step
        self.chunks = dict(zip(table.stages_of(self.rank), chunks))
        self.of_stage = {
            s: [p for p in chunk.parameters() if p.requires_grad]
            for s, chunk in self.chunks.items()
        }
        # Layers that leave W in a queue of their own.
        self.delayed: dict[int, list[Any]] = {}
        if private.has_delayed_gradients(step["config"]):
            for s, chunk in self.chunks.items():
                self.delayed[s] = private.delayed_linears(chunk)
        self.ran: set[int] = set()
        self.tokens: Any = 0
        self.losses: list[Any] = []

    def set_shape(self, size: tuple[int, ...], dtype: Any) -> None:
        """All stages pass on one tensor of this shape."""
        shapes = Shapes(False, (Shape(size, dtype, torch.is_grad_enabled()),))
        for stage in range(self.table.num_stages):
            self.inputs[stage] = self.outputs[stage] = shapes

    def parameters(self, stage: int) -> list[Any]:
        return self.of_stage[stage]

    def forward(self, stage: int, microbatch: int, x: Any) -> Any:
        step = self.step
        place = list(self.chunks).index(stage)
        is_last = stage == self.table.num_stages - 1
        y, tokens = private.forward_step(
            step["forward_step_func"],
            step["data"].at(place, microbatch),
            self.chunks[stage],
            x,
            self.losses,
            step["config"],
            step["groups"],
            microbatches=self.table.microbatches,
            microbatch=microbatch,
            is_first=step["marks_first"] and stage not in self.ran,
            is_last_stage=is_last,
            collect_non_loss_data=step["collect_non_loss_data"],
        )
        self.ran.add(stage)
        if is_last:
            self.tokens = self.tokens + tokens
            scale = step["config"].grad_scale_func
            if scale is not None and torch.is_grad_enabled():
                y = scale(y)
        return y

    def weight_grad(self, stage: int, microbatch: int, token: Any) -> None:
        super().weight_grad(stage, microbatch, token)
        private.run_delayed(self.delayed.get(stage, []))

    def backward(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> None:
        super().backward(stage, microbatch, y, grad, x)
        private.run_delayed(self.delayed.get(stage, []))

    def after_weight(self, stage: int, microbatch: int) -> None:
        private.add_to_main_grads(self.of_stage[stage])

    def reduce(self, stage: int) -> None:
        if private.has_overlapped_reduction(self.chunks[stage]):
            private.start_reduction(self.chunks[stage])


def refuse(config: Any, split: str, table: Table, chunks: Sequence[Any]) -> None:
    """Raises ValueError for settings that do not go with a schedule."""
    is_split = any(table.has_split_backwards(s) for s in range(table.num_stages))
    for is_set, why in _refusals(config, split, is_split):
        if is_set:
            raise ValueError(f"cannot run a schedule with {why}")
    if not private.has_delayed_gradients(config):
        return
    late = table.out_of_queue()
    if late is not None:
        raise ValueError(
            f"cannot run a schedule with delay_wgrad_compute: {late[0]} comes when "
            f"micro-batch {late[1]} is first in the layers' queues of weight gradients"
        )
    if not all(hasattr(p, "main_grad") for c in chunks for p in c.parameters()):
        raise ValueError(
            "delay_wgrad_compute needs chunks in a DistributedDataParallel: without one "
            "the layers keep the gradient of one micro-batch alone"
        )


def _refusals(config: Any, split: str, is_split: bool) -> list[tuple[bool, str]]:
    """Settings that do not go with a schedule, and why."""

    def has(name: str) -> bool:
        return bool(getattr(config, name, None))

    walks = is_split and split == "walk"
    return [
        (has("variable_seq_lengths"), "variable_seq_lengths: messages need one shape"),
        (has("mtp_num_layers"), "mtp_num_layers: its stage has no place in a table"),
        (has("defer_embedding_wgrad_compute"),
         "defer_embedding_wgrad_compute: W does what it defers"),
        (walks and has("delay_wgrad_compute"),
         'delay_wgrad_compute and split="walk": use split="store"'),
        (has("fine_grained_activation_offloading"), "fine_grained_activation_offloading"),
        (getattr(config, "cuda_graph_impl", None) == "local", 'cuda_graph_impl "local"'),
        (has("overlap_moe_expert_parallel_comm"), "overlap_moe_expert_parallel_comm"),
        (has("overlap_p2p_comm"), "overlap_p2p_comm: the table orders the messages"),
        (walks and has("gradient_accumulation_fusion"),
         'gradient_accumulation_fusion and split="walk": weight gradients would be added '
         "in I and again in W"),
        (walks and has("recompute_granularity"),
         'recompute_granularity and split="walk": use split="store"'),
        (is_split and split == "store" and has("enable_autocast"),
         'enable_autocast and split="store"'),
    ]  # fmt: skip


def forward_backward(
    schedule: Schedule | Table | str | os.PathLike[str],
    *,
    problem: Problem | None = None,
    split: str = "store",
    losses_to_last_rank: bool = True,
) -> Callable[..., list[Any]]:
    """A function with the arguments of those that get_forward_backward_func returns.

    `schedule` is a Schedule, a file of one, or a file of `rondo export torch-csv-comms`;
    `problem` is needed for a schedule that was read from a file. The chunks are those of
    build(). `split` is how I and W are separated:

    - "store": Megatron's linear layers leave their weight gradients for W; all others
      are computed in I.
    - "walk": by PyTorch's walk over the graph, which computes the weight gradients of
      linear layers twice.

    With `forward_only` only forwards run. What the loss function returns is on the rank
    of the last stage; with `losses_to_last_rank` also on the last pipeline rank, where
    Megatron-LM's training loop looks for it.
    """
    private.check_client()
    if split not in ("store", "walk"):
        raise ValueError(f'split is "store" or "walk", not {split!r}')
    table = Table.of(schedule, problem)
    table.check()
    is_split = any(table.has_split_backwards(s) for s in range(table.num_stages))
    evaluation = table.forward_only()
    linear = private.deferred_linear()
    kept: dict[str, Any] = {}

    def step(
        *,
        forward_step_func: Callable[..., Any],
        data_iterator: Any,
        model: Any,
        num_microbatches: int,
        seq_length: int,
        micro_batch_size: int,
        decoder_seq_length: int | None = None,
        forward_only: bool = False,
        collect_non_loss_data: bool = False,
        first_val_step: bool | None = None,
        adjust_tensor_shapes_fn: Any = None,
        p2p_communicator: Any = None,
        pg_collection: Any = None,
        force_all_reduce: bool | None = False,
        **others: Any,
    ) -> list[Any]:
        chunks = list(model) if isinstance(model, (list, tuple)) else [model]
        if adjust_tensor_shapes_fn is not None or p2p_communicator is not None:
            raise ValueError(
                "adjust_tensor_shapes_fn and p2p_communicator are not supported"
            )
        config = private.config_of(chunks[0])
        group = private.pipeline_group()
        table.fit(ranks=group.size(), of="Megatron's pipeline")
        stages = table.stages_of(group.rank())
        if len(chunks) != len(stages):
            raise ValueError(
                f"rank {group.rank()} has {len(stages)} stages in {table.name}, but was "
                f"given {len(chunks)} model chunks: make them with rondo.megatron.build"
            )
        check_chunks(chunks, table, group.rank())
        refuse(config, split, table, chunks)
        if forward_only and num_microbatches != table.microbatches:
            rows = Table.forwards(table.placement, num_microbatches)
        else:
            table.fit(microbatches=num_microbatches, of="this step (num_microbatches)")
            rows = evaluation if forward_only else table
        groups = private.default_groups() if pg_collection is None else pg_collection
        iterators = data_iterator
        if not isinstance(iterators, (list, tuple)):
            iterators = [data_iterator] * len(chunks)
        settings = {
            "forward_step_func": forward_step_func,
            "data": Data(list(iterators)),
            "config": config,
            "groups": groups,
            "collect_non_loss_data": collect_non_loss_data,
            "marks_first": not forward_only or first_val_step is not False,
        }
        hooks = Hooks(settings, rows, chunks, split)
        shape = private.shape_of_message(
            config, groups, seq_length, micro_batch_size, decoder_seq_length
        )
        if config.timers is not None:
            timer = config.timers("forward-backward", log_level=1)
            timer.start(barrier=config.barrier_with_L1_time)
        if "tied" not in kept and not forward_only:
            kept["tied"] = TiedEmbedding(table, chunks, group)
        with contextlib.ExitStack() as stack:
            if forward_only:
                stack.enter_context(torch.no_grad())
            for chunk in chunks:
                if hasattr(chunk, "no_sync"):
                    stack.enter_context(chunk.no_sync())
            hooks.set_shape(shape, config.pipeline_dtype or config.params_dtype)
            linear.is_on = split == "store" and is_split and not forward_only
            try:
                run(rows, hooks.rank, hooks, forward_only=forward_only)
            finally:
                linear.is_on = False
        if not forward_only and config.finalize_model_grads_func is not None:
            _finalize(hooks, chunks, config, groups, group, kept["tied"], force_all_reduce)
        if config.timers is not None:
            config.timers("forward-backward").stop()
        losses = hooks.losses
        if losses_to_last_rank and not collect_non_loss_data:
            losses = _losses(table, losses, group)
        return losses

    return step


def _finalize(
    hooks: Hooks,
    chunks: list[Any],
    config: Any,
    groups: Any,
    group: Any,
    tied: TiedEmbedding,
    force_all_reduce: Any,
) -> None:
    tokens = None
    if config.calculate_per_token_loss:
        tokens = torch.zeros([], dtype=torch.int, device=hooks.device) + hooks.tokens
        # Megatron takes them from the last rank.
        source = hooks.ranks[hooks.table.loss_rank]
        dist.broadcast(tokens, source, group=group)
    config.finalize_model_grads_func(
        chunks,
        tokens,
        pg_collection=private.without_embeddings(groups),
        force_all_reduce=force_all_reduce,
    )
    with torch.no_grad():
        tied.add_gradients()


def _losses(table: Table, losses: list[Any], group: Any) -> list[Any]:
    """Also those of the last stage's rank on the last pipeline rank."""
    ranks = dist.get_process_group_ranks(group)
    source, target = ranks[table.loss_rank], ranks[-1]
    if source == target:
        return losses
    if dist.get_rank() == source:
        dist.send_object_list([losses], target, group=group)
    elif dist.get_rank() == target:
        found: list[Any] = [None]
        dist.recv_object_list(found, source, group=group)
        losses = found[0]
    return losses


def use(
    schedule: Schedule | Table | str | os.PathLike[str], **options: Any
) -> Callable[..., list[Any]]:
    """Makes Megatron's get_forward_backward_func return forward_backward(schedule,
    **options), also in Megatron-LM's training loop if that is imported."""
    function = forward_backward(schedule, **options)
    private.replace_schedule(function)
    return function
