# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model chunks of a rank, for any placement of stages."""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from ..problem import Problem
from ..run import Table, TableError
from ..schedule import Schedule
from . import private


def layout_of(layers: Sequence[int]) -> str:
    """Megatron's layout of stages with these numbers of transformer layers; the first
    also has the embedding, and the last the loss."""
    stages = ["t" * count for count in layers]
    return "E" + "|".join(stages) + "L"


def build(
    schedule: Schedule | Table | str | os.PathLike[str],
    config: Any,
    make: Callable[..., Any],
    *,
    layout: str | None = None,
    problem: Problem | None = None,
) -> list[Any]:
    """The chunks of this rank, in ascending order of stages.

    `make(config=, pre_process=, post_process=, pg_collection=)` makes a model of what it
    is given, such as a GPTModel. `config` is a TransformerConfig for the pipeline's
    ranks; each chunk gets a copy for its stage. `layout` has one part for each stage, as
    `rondo export megatron-layout` writes it; without it all stages have the same number
    of layers. Layers and parameters have the names of the whole model. All ranks call it
    together.
    """
    private.check_client()
    table = Table.of(schedule, problem)
    group = private.pipeline_group()
    table.fit(ranks=group.size(), of="Megatron's pipeline")
    count = table.num_stages
    if layout is None:
        if config.num_layers % count:
            raise TableError(
                f"{config.num_layers} layers do not divide by {count} stages: give a layout"
            )
        layout = layout_of([config.num_layers // count] * count)
    _check_layout(layout, count, config)
    chunks = []
    for stage in table.stages_of(group.rank()):
        chunk = make(
            config=private.config_of_stage(config, layout, count, stage),
            pre_process=stage == 0,
            post_process=stage == count - 1,
            pg_collection=private.groups_of_stage(count, stage),
        )
        chunk.rondo_stage = stage
        chunks.append(chunk)
    with torch.no_grad():
        TiedEmbedding(table, chunks, group).start()
    return chunks


def check_chunks(chunks: Sequence[Any], table: Table, rank: int) -> None:
    """Raises ValueError if a chunk was made for another stage than the table's. Of
    chunks that build() did not make, only first and last stage are known."""
    for stage, chunk in zip(table.stages_of(rank), chunks):
        is_first, is_last = stage == 0, stage == table.num_stages - 1
        model = private.unwrapped(chunk)
        found = getattr(model, "rondo_stage", stage)
        has_ends = (
            bool(getattr(model, "pre_process", is_first)),
            bool(getattr(model, "post_process", is_last)),
        )
        if found != stage or has_ends != (is_first, is_last):
            raise ValueError(
                f"rank {rank} has stage {stage} in {table.name}, but was given the chunk "
                "of another stage: make chunks with rondo.megatron.build"
            )


def _check_layout(layout: str, count: int, config: Any) -> None:
    found = private.StageOfLayout(layout, 1, 0)
    rows = found.layout[0]
    if len(rows) != count:
        raise TableError(f"layout {layout!r} has {len(rows)} stages, not {count}")
    layers = sum(row.count(private.Layer.decoder) for row in rows)
    if layers != config.num_layers:
        raise TableError(
            f"layout {layout!r} has {layers} layers, but the model has {config.num_layers}"
        )
    if private.Layer.embedding not in rows[0] or private.Layer.loss not in rows[-1]:
        raise TableError(
            f"layout {layout!r} must have E in its first stage and L in its last"
        )


class TiedEmbedding:
    """A head that has the embedding's weight: two copies, in first and last stage."""

    def __init__(self, table: Table, chunks: Sequence[Any], group: Any):
        self.first = self.last = None
        mine = table.stages_of(group.rank())
        if 0 in mine:
            self.first = private.shared_weight(chunks[0])
        if table.num_stages - 1 in mine:
            self.last = private.shared_weight(chunks[-1])
        self.is_local = table.placement[0] == table.loss_rank
        self.group: Any = None
        self.source = -1
        if table.num_stages == 1:
            self.first = self.last = None
        elif not self.is_local:
            self._make_group(table, group)

    def _make_group(self, table: Table, group: Any) -> None:
        """A group for each pipeline. All processes make all groups."""
        known = dist.get_process_group_ranks(group)
        found: list[Any] = [None] * dist.get_world_size()
        is_tied = self.first is not None or self.last is not None
        dist.all_gather_object(found, (known, is_tied))
        pipelines = sorted({tuple(ranks) for ranks, _ in found})
        if not any(tied for _, tied in found):
            return
        for ranks in pipelines:
            ends = [ranks[table.placement[0]], ranks[table.loss_rank]]
            made = dist.new_group(ends)
            if tuple(known) == ranks:
                self.group, self.source = made, ends[0]

    def start(self) -> None:
        """Gives the head the embedding's weight."""
        if self.is_local:
            if self.first is not None and self.last is not None:
                self.last.copy_(self.first)
        elif self.group is not None and (self.first is not None or self.last is not None):
            weight: Any = self.last if self.first is None else self.first
            dist.broadcast(weight.data, self.source, group=self.group)

    def add_gradients(self) -> None:
        """Gives both copies the sum of their gradients."""
        if self.is_local:
            if self.first is not None and self.last is not None:
                first, last = _gradient(self.first), _gradient(self.last)
                first.add_(last)
                last.copy_(first)
        elif self.group is not None and (self.first is not None or self.last is not None):
            weight = self.last if self.first is None else self.first
            dist.all_reduce(_gradient(weight), group=self.group)


def _gradient(weight: Any) -> Any:
    if hasattr(weight, "main_grad"):
        return weight.main_grad
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad
