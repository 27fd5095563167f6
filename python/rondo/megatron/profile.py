# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the chunks of a rank and searches a schedule for them."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

from ..run import Table
from ..run import profile as runs
from . import private
from .schedule import Data, Hooks, refuse


def profile(
    chunks: Sequence[Any],
    table: Table,
    *,
    forward_step_func: Callable[..., Any],
    data_iterator: Any,
    seq_length: int,
    micro_batch_size: int,
    decoder_seq_length: int | None = None,
    split: str = "store",
    repeats: int = 3,
    seconds: float = 2,
    memory_bytes: int | None = None,
) -> runs.Found:
    """Costs of the chunks, links and host, and a schedule searched for them.

    `chunks` are those of build(table, ...), and `table` has the job's placement and
    number of micro-batches; it may be Table.plain(). The other arguments are those of
    forward_backward() and of its result. All processes call it together, between two
    steps; runs.MICROBATCHES micro-batches are taken of the iterator. Gradients that a
    DistributedDataParallel has added up are cleared, all else stays. The search takes
    `seconds`; `memory_bytes` caps the activations of each rank.
    """
    private.check_client()
    config = private.config_of(chunks[0])
    group, groups = private.pipeline_group(), private.default_groups()
    table.fit(ranks=group.size(), of="Megatron's pipeline")
    refuse(config, split, Table.plain(table.placement, runs.MICROBATCHES), chunks)
    iterators = data_iterator
    if not isinstance(iterators, (list, tuple)):
        iterators = [data_iterator] * len(chunks)
    data = Data(list(iterators))

    def make(trial: Table) -> Hooks:
        settings = {
            "forward_step_func": forward_step_func,
            "data": data,
            "config": config,
            "groups": groups,
            "collect_non_loss_data": False,
            "marks_first": True,
        }
        hooks = Hooks(settings, trial, list(chunks), split)
        shape = private.shape_of_message(
            config, groups, seq_length, micro_batch_size, decoder_seq_length
        )
        hooks.set_shape(shape, config.pipeline_dtype or config.params_dtype)
        return hooks

    with _apart(chunks, split):
        # A DistributedDataParallel has another `buffers`.
        modules = [getattr(chunk, "module", chunk) for chunk in chunks]
        hooks, samples = runs.measure(make, table.placement, modules, repeats)
    for chunk in chunks:
        private.clear_main_grads(chunk)
    problem = runs.problem_of(
        table.placement,
        table.microbatches,
        hooks.rank,
        samples,
        name="megatron",
        memory_bytes=memory_bytes,
        ranks=hooks.ranks,
        group=group,
    )
    return runs.search(problem, table, seconds)


@contextlib.contextmanager
def _apart(chunks: Sequence[Any], split: str) -> Iterator[None]:
    """The state of chunks during a step: gradients are not reduced, and linear layers
    defer theirs."""
    linear = private.deferred_linear()
    with contextlib.ExitStack() as stack:
        for chunk in chunks:
            if hasattr(chunk, "no_sync"):
                stack.enter_context(chunk.no_sync())
        linear.is_on = split == "store"
        try:
            yield
        finally:
            linear.is_on = False
