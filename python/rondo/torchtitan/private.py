# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of torchtitan that the package uses. Tried with 0.3.0."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
from typing import Any, Callable, Iterator, Sequence

from torchtitan.components.loss import ChunkedLossWrapper
from torchtitan.distributed import pipeline_parallel
from torchtitan.distributed.activation_checkpoint import SelectiveAC

from ..run import check_version

TRIED = ["0.3.0"]
# Before, the placement is decided within the function that splits the model.
OLDEST = "0.3.0"
_MAPPING = "_get_pp_rank_to_stage_indices_mapping"


def check_client() -> None:
    check_version("torchtitan", importlib.metadata.version("torchtitan"), TRIED, OLDEST)


def has_chunked_loss(config: Any) -> bool:
    return isinstance(config.loss, ChunkedLossWrapper.Config)


def has_selective_checkpoints(config: Any) -> bool:
    return isinstance(config.activation_checkpoint, SelectiveAC.Config)


def even_modules(config: Any, num_stages: int) -> list[list[str]]:
    """The modules of each stage as torchtitan itself divides a model."""
    parallelism = config.parallelism
    modules: list[list[str]] = pipeline_parallel._generate_llm_fqn_per_model_part(
        num_stages,
        len(config.model_spec.model.layers),
        parallelism.pipeline_parallel_first_stage_less_layers,
        parallelism.pipeline_parallel_last_stage_less_layers,
    )
    return modules


@contextlib.contextmanager
def _placed(placement: Sequence[int]) -> Iterator[None]:
    before = getattr(pipeline_parallel, _MAPPING)

    def stages_of(pp_rank: int, *others: Any) -> tuple[int, ...]:
        return tuple(s for s, rank in enumerate(placement) if rank == pp_rank)

    setattr(pipeline_parallel, _MAPPING, stages_of)
    try:
        yield
    finally:
        setattr(pipeline_parallel, _MAPPING, before)


class PlacedPipelining:
    """A pipelining function that places stages on ranks as a schedule does."""

    def __init__(self, function: Callable[..., Any], placement: Sequence[int]):
        self.function, self.placement = function, list(placement)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        with _placed(self.placement):
            return self.function(*arguments, **options)


def place(config: Any, placement: Sequence[int]) -> None:
    """Makes a job's pipelining function place stages on these ranks."""
    spec = config.model_spec
    if spec is None or spec.pipelining_fn is None:
        raise ValueError("the model has no pipelining function")
    function = spec.pipelining_fn
    if isinstance(function, PlacedPipelining):
        function = function.function
    config.model_spec = dataclasses.replace(
        spec, pipelining_fn=PlacedPipelining(function, placement)
    )


def after_first_step(trainer: Any, call: Callable[[], None]) -> None:
    """Calls a function after a trainer's first step."""
    step = trainer.train_step

    def with_call(*arguments: Any, **options: Any) -> Any:
        found = step(*arguments, **options)
        if trainer.step == 1:
            call()
        return found

    trainer.train_step = with_call
