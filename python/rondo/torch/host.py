# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host costs of PyTorch's runtime, without the work of the stages."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any, Callable

import torch
import torch.distributed as dist

from ..problem import GraphStage, HostCosts
from . import private
from .profile import profile_stages
from .run import make_stages


KEYS = ("action_ns", "send_ns", "receive_ns", "wait_ns")


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, stage: _Stage) -> torch.Tensor:
        ctx.stage = stage
        stage.sleep("F")
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        ctx.stage.sleep("B")
        return grad, None


class _Stage(torch.nn.Module):
    """Takes time without a core. In between the runtime's code leaves the caches, as
    it does where stages compute: right after another action it takes less time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.weight = torch.nn.Parameter(torch.ones(1))
        # The time that its tasks have slept: always more than asked for, by times that
        # vary more than what is measured here.
        self.slept: dict[str, list[int]] = {"F": [], "B": []}

    def sleep(self, task: str) -> None:
        begin = time.perf_counter_ns()
        time.sleep(self.seconds)
        self.slept[task].append(time.perf_counter_ns() - begin)

    def take_slept(self) -> dict[str, list[int]]:
        """The times, in ns, that tasks have slept since the last call."""
        slept, self.slept = self.slept, {"F": [], "B": []}
        return slept

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slept: torch.Tensor = _Sleep.apply(x * self.weight, self)
        return slept


def _loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().mean()


def profile_host(
    device: torch.device | str = "cpu",
    message_bytes: int = 4096,
    repeats: int = 10,
    task_seconds: float = 0.005,
) -> HostCosts:
    """The median costs of an action, a send, a receive and a wait, of all processes.

    All processes of the default process group call it together. They run a pipeline
    whose tasks take `task_seconds`. `message_bytes` is what a stage sends for a
    micro-batch: gloo copies messages while it sends. The costs of messages are None
    in a group of one. profile_stages(..., host=...) takes them.
    """
    groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    group = groups[dist.get_rank()]
    ns = _action(group, device, message_bytes, repeats, task_seconds)
    mine = {"action_ns": ns}
    mine.update(_messages(device, message_bytes, repeats, task_seconds))
    # As tensors: objects would need NumPy.
    missing = -1
    row = torch.tensor([mine.get(key, missing) for key in KEYS], device=device)
    rows = [torch.empty_like(row) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, row)
    found: dict[str, int | None] = {}
    for key, measured in zip(KEYS, zip(*(r.tolist() for r in rows))):
        known = [ns for ns in measured if ns != missing]
        found[key] = round(statistics.median(known)) if known else None
    return HostCosts(**found)


def _action(
    group: Any, device: Any, size: int, repeats: int, task_seconds: float
) -> int:
    """Time of a step of two stages on one rank, without their tasks' own. A step
    takes more than its actions; each is given an equal part of that."""
    microbatches, width = 8, max(1, size // 4)
    modules = [_Stage(task_seconds).to(device) for _ in range(2)]
    example = torch.ones(1, width, device=device)
    tasks = ("0F{0}", "1F{0}", "1B{0}", "0B{0}")
    row = [task.format(i) for i in range(microbatches) for task in tasks]
    problem = profile_stages(
        modules,
        [0, 0],
        example,
        _loss,
        example,
        microbatches,
        repeats=2 * repeats,
        fused=True,
    )
    # Time of tasks in addition to their sleep is theirs, not the runtime's.
    own = 0.0
    for stage, module in zip(problem.stages, modules):
        assert isinstance(stage, GraphStage)
        for kind, slept in module.take_slept().items():
            own += (stage.costs[kind].ns or 0) - statistics.median(slept)
    stages = make_stages(modules, [0, 0], device, group)
    step = _loaded(stages, row, microbatches)
    batch = torch.ones(microbatches, width, device=device)
    runs = []
    for _ in range(repeats):
        begin = time.perf_counter_ns()
        step(batch, target=batch, losses=[])
        if torch.device(device).type != "cpu":
            getattr(torch, torch.device(device).type).synchronize()
        took = time.perf_counter_ns() - begin
        slept = [m.take_slept() for m in modules]
        runs.append(took - sum(sum(ns) for kinds in slept for ns in kinds.values()))
    return max(0, round(statistics.median(runs) - microbatches * own) // len(row))


def _loaded(stages: Any, row: list[str], count: int) -> Callable[..., Any]:
    """The step of one rank, without the rondo command."""
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        path = os.path.join(folder, "schedule.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(row) + "\n")
        loaded: Any = private.load_runtime(stages, count, _loss, path)
    step: Callable[..., Any] = loaded.step
    return step


def _messages(
    device: Any, size: int, repeats: int, task_seconds: float
) -> dict[str, int]:
    """Host times of messages to the neighbour: even ranks send, odd ones receive."""
    rank, count = dist.get_rank(), dist.get_world_size()
    peer = rank ^ 1
    has_peer = peer < count
    data = torch.zeros(size, dtype=torch.uint8, device=device)
    action = dist.isend if rank % 2 == 0 else dist.irecv
    issues, waits = [], []
    for _ in range(repeats):
        dist.barrier()
        time.sleep(task_seconds)
        if has_peer:
            begin = time.perf_counter_ns()
            works = dist.batch_isend_irecv([dist.P2POp(action, data, peer)])
            issues.append(time.perf_counter_ns() - begin)
        dist.barrier()
        # It has arrived by now, as it should when a task waits for it.
        time.sleep(task_seconds)
        if has_peer:
            begin = time.perf_counter_ns()
            for work in works:
                work.wait()
            waits.append(time.perf_counter_ns() - begin)
    if not has_peer:
        return {}
    issue = round(statistics.median(issues))
    kind = "send_ns" if rank % 2 == 0 else "receive_ns"
    return {kind: issue, "wait_ns": round(statistics.median(waits))}
