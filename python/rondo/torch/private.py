# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of PyTorch that the package uses.

Versions that were tried are listed in docs/pytorch.md. 2.6 and older have no
`scale_grads`, or no I.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

TRIED = "2.7 to 2.15"
try:
    from torch.distributed.pipelining import schedules
    from torch.distributed.pipelining._backward import (
        stage_backward as _backward,
        stage_backward_input as _backward_input,
        stage_backward_weight as _backward_weight,
        _get_grad_fn_or_grad_acc,
    )
except ImportError as error:
    raise ImportError(
        f"PyTorch {torch.__version__} lacks what rondo.torch uses of it: {error}; "
        f"tried: {TRIED}"
    ) from None


def input_gradients(
    outputs: Sequence[Any],
    output_grads: list[Any] | None,
    inputs: list[Any],
    parameters: list[Any],
) -> list[dict[str, Any]]:
    """I of a stage: leaves gradients in its inputs. The result is for W."""
    _, groups = _backward_input(outputs, output_grads, inputs, iter(parameters))
    return groups


def edges_of(
    outputs: Sequence[Any], grads: Sequence[Any] | None
) -> tuple[list[Any], list[Any] | None]:
    """The outputs in the form that input_gradients takes. From 2.15 on it takes edges of
    the graph, so outputs stay as they are; before, it detaches them in place, which a
    view refuses."""
    if version() < (2, 15):
        return list(outputs), None if grads is None else list(grads)
    found = [torch.ones_like(y) for y in outputs] if grads is None else list(grads)
    return [torch.autograd.graph.get_gradient_edge(y) for y in outputs], found


def node_of(tensor: Any) -> Any:
    """The node of a tensor in autograd's graph; of a leaf, that which adds its gradient."""
    return _get_grad_fn_or_grad_acc(tensor)


def weight_gradients(parameters: list[Any], groups: list[dict[str, Any]]) -> None:
    """W of a stage: adds to the gradients of its parameters."""
    _backward_weight(iter(parameters), groups)


def gradients_held(groups: list[dict[str, Any]]) -> list[Any]:
    """The gradients that I keeps for W."""
    return [
        grad
        for group in groups
        for grads in group.get("grads") or []
        for grad in grads or []
        if grad is not None
    ]


def all_gradients(outputs: Any, output_grads: Any, inputs: list[Any]) -> None:
    """B of a stage."""
    _backward(outputs, output_grads, inputs)


def load_runtime(
    stages: list[Any],
    microbatches: int,
    loss_fn: Callable[..., Any] | None,
    path: str,
    format: str = "compute_only",
    **options: Any,
) -> Any:
    """PyTorch's runtime with the schedule of a CSV file, of tasks alone (compute_only) or
    with messages (compute_comms). Up to 2.9 `scale_grads`
    scales only B, so it is off, and the loss is divided instead."""
    runtime = schedules._PipelineScheduleRuntime(
        stages, microbatches, loss_fn=loss_fn, scale_grads=False, **options
    )
    runtime._load_csv(path, format=format)
    if (2, 9) <= version() <= (2, 10):
        _leave_out_first_messages(stages)
    return runtime


def _leave_out_first_messages(stages: list[Any]) -> None:
    """PyTorch 2.9 and 2.10 set up NCCL by messages between neighbours, in which a
    rank may send to itself, and whose ends differ in size in 2.9. gloo refuses both,
    and needs no such messages."""
    for stage in stages:
        if torch.distributed.get_backend(stage.group) == "gloo":
            stage._get_init_p2p_neighbors_ops = list


def group_of(stage: Any) -> tuple[int, int]:
    """A stage's rank in its process group, and the size of that."""
    return stage.group_rank, stage.group_size


def stages_of(runtime: Any) -> list[Any]:
    """The stages of a runtime on this rank."""
    return list(runtime._stages)


def process_group_of(stage: Any) -> Any:
    return stage.group


def watch(runtime: Any, task: Callable[..., Any]) -> None:
    """Makes a runtime run its tasks through `task(stage, kind, run)`, which returns what
    `run()` does. The loss is a task "L"."""
    for stage in stages_of(runtime):
        _watch_stage(stage, stage.stage_index, task)
    loss = runtime._maybe_compute_loss

    def with_loss(stage: Any, *arguments: Any) -> Any:
        return task(stage.stage_index, "L", lambda: loss(stage, *arguments))

    runtime._maybe_compute_loss = with_loss


def _watch_stage(stage: Any, number: int, task: Callable[..., Any]) -> None:
    forward, weight = stage.forward_one_chunk, stage.backward_weight_one_chunk
    backward = stage.backward_one_chunk

    def run_forward(*arguments: Any, **options: Any) -> Any:
        return task(number, "F", lambda: forward(*arguments, **options))

    def run_backward(*arguments: Any, full_backward: bool = True, **options: Any) -> Any:
        kind = "B" if full_backward else "I"
        options["full_backward"] = full_backward
        return task(number, kind, lambda: backward(*arguments, **options))

    def run_weight(*arguments: Any, **options: Any) -> Any:
        return task(number, "W", lambda: weight(*arguments, **options))

    stage.forward_one_chunk, stage.backward_one_chunk = run_forward, run_backward
    stage.backward_weight_one_chunk = run_weight


def version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)
