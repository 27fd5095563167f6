# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch's runtime costs the host, beside the work of the stages."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

import torch
import torch.distributed as dist

from ..problem import GraphStage, HostCosts
from . import private
from .profile import profile_stages
from .run import make_stages


KEYS = ("action_ns", "send_ns", "receive_ns", "wait_ns")
MICROBATCHES = 8


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        time.sleep(ctx.seconds)
        return grad, None


class _Stage(torch.nn.Module):
    """Takes time without a core. In between the runtime's code leaves the caches, as
    it does where stages compute: right after another action it costs a fifth."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slept: torch.Tensor = _Sleep.apply(x * self.weight, self.seconds)
        return slept


def _loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().mean()


def profile_host(
    device: torch.device | str = "cpu",
    message_bytes: int = 4096,
    repeats: int = 5,
    task_seconds: float = 0.005,
) -> HostCosts:
    """The median costs of an action, a send, a receive and a wait, of all processes.

    All processes of the default process group call it together. They run a pipeline
    whose tasks take `task_seconds`, `repeats` times. `message_bytes` is what a stage
    sends for a micro-batch: gloo copies messages while it sends. The costs of
    messages are None in a group of one. profile_stages(..., host=...) takes them.
    """
    mine = _pipeline(device, message_bytes, repeats, task_seconds)
    if dist.get_world_size() > 1:
        mine["wait_ns"] = _wait(device, message_bytes, 4 * repeats, task_seconds)
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


def _pipeline(
    device: torch.device | str, message_bytes: int, repeats: int, task_seconds: float
) -> dict[str, int]:
    """Medians of this process, one stage of a pipeline whose backwards follow all
    forwards. Actions are those that wait for nobody: the forwards of the first stage
    and the backwards of the last. A step takes more than its actions; each action is
    given an equal part of that."""
    rank, count = dist.get_rank(), dist.get_world_size()
    width = max(1, message_bytes // 4)
    example = torch.ones(1, width, device=device)
    problem = profile_stages(
        [_Stage(task_seconds) for _ in range(2)],
        [0, 0],
        example,
        _loss,
        example,
        MICROBATCHES,
        repeats=2 * repeats,
        fused=True,
    )
    first, last = problem.stages
    assert isinstance(first, GraphStage) and isinstance(last, GraphStage)
    work = {"F": first.costs["F"].ns or 0, "B": last.costs["B"].ns or 0}

    # One process has two stages, since the times are those of two.
    placement = list(range(count)) if count > 1 else [0, 0]
    modules = [_Stage(task_seconds) for _ in placement]
    stages = make_stages(modules, placement, device)
    rows = [
        [
            f"{stage}{kind}{i}"
            for kind, order in (("F", 1), ("B", -1))
            for i in range(MICROBATCHES)
            for stage in range(len(placement))[::order]
            if placement[stage] == process
        ]
        for process in range(count)
    ]
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        path = os.path.join(folder, "schedule.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(",".join(row) + "\n" for row in rows)
        runtime: Any = private.load_runtime(stages, MICROBATCHES, _loss, path)

    batch = torch.ones(MICROBATCHES, width, device=device)
    arguments = [batch] if placement[0] == rank else []
    ends = {"target": batch, "losses": []} if placement[-1] == rank else {}
    # The first step sets up connections and buffers.
    runtime.step(*arguments, **ends)
    times: dict[str, list[int]] = {key: [] for key in KEYS}
    rest = []
    for _ in range(repeats):
        dist.barrier()
        with private.timed_actions() as actions:
            begin = time.perf_counter_ns()
            runtime.step(*arguments, **ends)
            rest.append(time.perf_counter_ns() - begin)
        rest[-1] -= sum(ns for _, _, ns in actions)
        for stage, kind, ns in actions:
            if kind.startswith("SEND"):
                times["send_ns"].append(ns)
            elif kind.startswith("RECV"):
                times["receive_ns"].append(ns)
            elif (kind, stage) in (("F", 0), ("B", len(placement) - 1)):
                times["action_ns"].append(ns - work[kind])
    found = {key: round(statistics.median(ns)) for key, ns in times.items() if ns}
    if "action_ns" in found:
        share = round(statistics.median(rest)) // len(rows[rank])
        found["action_ns"] = max(0, found["action_ns"]) + share
    return found


def _wait(
    device: torch.device | str, size: int, repeats: int, task_seconds: float
) -> int:
    """Time that a wait takes when the message has long arrived."""
    rank, count = dist.get_rank(), dist.get_world_size()
    data = [torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2)]
    neighbours = ((dist.isend, rank + 1), (dist.irecv, rank - 1))
    times = []
    for _ in range(repeats):
        works = [
            work
            for (action, peer), tensor in zip(neighbours, data)
            if 0 <= peer < count
            for work in dist.batch_isend_irecv([dist.P2POp(action, tensor, peer)])
        ]
        dist.barrier()
        time.sleep(task_seconds)
        begin = time.perf_counter_ns()
        for work in works:
            work.wait()
        times.append((time.perf_counter_ns() - begin) // max(1, len(works)))
    return round(statistics.median(times))
