# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a client's own stages to a searched schedule: measured costs, a problem of them,
and the predicted gain. Nothing of the job changes.

All ranks of a pipeline call it together. Parameters, gradients, buffers and random
numbers are left as they were.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
import weakref
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from .. import command
from ..problem import (
    Cost,
    Edge,
    GraphStage,
    HostCosts,
    Link,
    Problem,
    Rank,
    RankLink,
    Replica,
)
from ..schedule import Schedule
from ..torch.profile import storages, unchanged
from .runner import Trace, run
from .table import Table
from .tensors import TensorHooks, tensors_of

# Micro-batches of a trial, and how many of them run their backward whole, as B.
MICROBATCHES, WHOLE = 6, 3
PINGS = 15
# Sizes whose times tell latency from bandwidth differ by this factor or more.
SMALL_BYTES, LEAST_FACTOR = 64, 16


@dataclasses.dataclass
class Found:
    """The result of a profile. `problem` has the measured costs, `now` is the schedule
    that was compared with, and `schedule` the searched one, both with predicted
    times."""

    problem: Problem
    now: Schedule
    schedule: Schedule

    @staticmethod
    def from_json(problem: str, now: str, schedule: str) -> Found:
        found = Problem.from_json(problem)
        before, after = Schedule.from_json(now), Schedule.from_json(schedule)
        before.of = after.of = found
        return Found(found, before, after)

    @property
    def gain(self) -> float:
        """The part of the step's time that the searched schedule saves, as predicted."""
        before, after = self.now.makespan_ns, self.schedule.makespan_ns
        assert before is not None and after is not None
        return 1 - after / before

    def __str__(self) -> str:
        before, after = self.now.makespan_ns, self.schedule.makespan_ns
        assert before is not None and after is not None
        return (
            f"predicted step: {before / 1e6:.1f} ms with {self.now.family or 'the schedule now'}, "
            f"{after / 1e6:.1f} ms searched: {100 * self.gain:.1f} % less"
        )


class Samples(Trace):
    """Times of a rank's actions and what its stages hold."""

    def __init__(self, device: Any = "cpu"):
        self.device = torch.device(device)
        # Keys are a stage and F, I, W or B, and for the host send, receive and wait.
        self.tasks: dict[tuple[int, str], list[int]] = {}
        self.host: dict[str, list[int]] = {}
        self.held: dict[int, int] = {}
        self.outputs: dict[int, tuple[int, int]] = {}
        self.trained: dict[int, int] = {}

    def synchronize(self) -> None:
        if self.device.type != "cpu":
            getattr(torch, self.device.type).synchronize()

    def action(self, stage: int, kind: str, microbatch: int, took: int) -> None:
        if len(kind) == 1:
            self.tasks.setdefault((stage, kind), []).append(took)
        elif kind.startswith("SEND_"):
            self.host.setdefault("send", []).append(took)
        elif kind.startswith("RECV_"):
            self.host.setdefault("receive", []).append(took)

    def waited(self, took: int) -> None:
        self.host.setdefault("wait", []).append(took)

    def clear(self) -> None:
        """Forgets times, such as those of a warm-up."""
        self.tasks.clear()
        self.host.clear()

    def cost(self, stage: int, kind: str) -> int | None:
        found = self.tasks.get((stage, kind))
        return None if not found else round(statistics.median(found))

    def value(self, stage: int) -> dict[str, Any]:
        """The figures of a stage of this rank, for other ranks."""
        ns = {kind: self.cost(stage, kind) for kind in "FIWB"}
        return {
            "ns": ns,
            "held": self.held.get(stage, 0),
            "bytes": self.outputs.get(stage, (0, 0)),
            "trained": self.trained.get(stage, 0),
        }


def bytes_of(value: Any) -> tuple[int, int]:
    """Bytes of the tensors that a stage passes on, and of their gradients."""
    tensors = tensors_of(value)
    sizes = [t.numel() * t.element_size() for t in tensors]
    return sum(sizes), sum(s for s, t in zip(sizes, tensors) if t.requires_grad)


class Held:
    """Counts the bytes that the graph keeps of a forward."""

    def __init__(self, unseen: Sequence[Any]):
        self.unseen = storages(unseen).keys()
        self.saved: list[weakref.ref[_Saved]] = []

    def __enter__(self) -> Held:
        hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, _Saved.unpack)
        self.hooks = hooks
        hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.__exit__(*error)

    def pack(self, tensor: Any) -> _Saved:
        found = _Saved(tensor)
        self.saved.append(weakref.ref(found))
        return found

    def bytes(self, *others: Any) -> int:
        alive = [ref() for ref in self.saved]
        found = storages([*(s.tensor for s in alive if s is not None), *others])
        return sum(size for key, size in found.items() if key not in self.unseen)


class _Saved:
    def __init__(self, tensor: Any):
        self.tensor = tensor.detach()

    def unpack(self) -> Any:
        return self.tensor


class _Measured:
    """Hooks of a client that also count the bytes of one micro-batch of each stage."""

    def __init__(self, hooks: TensorHooks, samples: Samples, modules: Sequence[Any]):
        self.hooks, self.samples = hooks, samples
        self.last = hooks.table.num_stages - 1
        self.unseen = [
            t for m in modules for t in (*m.parameters(), *m.buffers())
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.hooks, name)

    def after_weight(self, stage: int, microbatch: int) -> None:
        """Gradients are not used."""

    def reduce(self, stage: int) -> None:
        """Nor reduced."""

    def forward(self, stage: int, microbatch: int, x: Any) -> Any:
        if stage in self.samples.held:
            return self.hooks.forward(stage, microbatch, x)
        inputs = [] if x is None else tensors_of(x)
        with Held(self.unseen) as held:
            y = self.hooks.forward(stage, microbatch, x)
        outputs = [] if stage == self.last else tensors_of(y)
        self.samples.held[stage] = held.bytes(*inputs, *outputs)
        if stage < self.last:
            self.samples.outputs[stage] = bytes_of(y)
        self.samples.trained[stage] = sum(
            p.numel() * p.element_size() for p in self.hooks.parameters(stage)
        )
        return y


def measure(
    make: Callable[[Table], TensorHooks],
    placement: Sequence[int],
    modules: Sequence[Any],
    repeats: int = 3,
) -> tuple[TensorHooks, Samples]:
    """Runs a trial: a table of MICROBATCHES micro-batches with hooks that `make` makes,
    once to warm up, then `repeats` times."""
    table = Table.plain(placement, MICROBATCHES, whole=WHOLE)
    with unchanged(modules):
        hooks = make(table)
        samples = Samples(hooks.device)
        measured: Any = _Measured(hooks, samples, modules)
        for number in range(repeats + 1):
            if number == 1:
                samples.clear()
            dist.barrier(group=hooks.group)
            run(table, hooks.rank, measured, trace=samples)
            for parameter in (p for m in modules for p in m.parameters()):
                parameter.grad = None
    return hooks, samples


def measure_links(
    placement: Sequence[int],
    rank: int,
    sizes: Sequence[int],
    *,
    ranks: Sequence[int],
    group: Any,
    device: Any,
    own_ns: int,
) -> list[RankLink]:
    """Times of messages there and back, between each two ranks whose stages follow each
    other. `sizes` has the largest message of each stage to the next, and `own_ns` is the
    part of a message's time that is the host's."""
    pairs: dict[tuple[int, int], int] = {}
    for stage in range(len(placement) - 1):
        one, other = sorted(placement[stage : stage + 2])
        if one != other:
            pairs[one, other] = max(pairs.get((one, other), 0), sizes[stage])
    found: list[RankLink] = []
    for (one, other), size in sorted(pairs.items()):
        times = [
            _ping(n, rank, one, other, ranks, group, device)
            for n in (SMALL_BYTES, max(size, SMALL_BYTES))
        ]
        small, large = times
        rate = None
        if size >= LEAST_FACTOR * SMALL_BYTES and large > small:
            rate = max(1, round(1000 * size / (large - small)))
        latency = max(0, small - own_ns)
        for ends in ((one, other), (other, one)):
            found.append(
                RankLink(
                    from_rank=ends[0], to_rank=ends[1], latency_ns=latency, bytes_per_us=rate
                )
            )
    return found


def _ping(
    size: int, rank: int, one: int, other: int, ranks: Sequence[int], group: Any, device: Any
) -> int:
    """The median of half a round trip; on ranks that take no part, the same number."""
    data = torch.zeros(size, dtype=torch.uint8, device=device)
    trips = []
    for _ in range(PINGS):
        dist.barrier(group=group)
        # As in a run, where other work comes in between.
        time.sleep(0.002)
        begin = time.perf_counter_ns()
        if rank == one:
            dist.send(data, ranks[other], group=group)
            dist.recv(data, ranks[other], group=group)
        elif rank == other:
            dist.recv(data, ranks[one], group=group)
            dist.send(data, ranks[one], group=group)
        trips.append((time.perf_counter_ns() - begin) // 2)
    found = [0] * len(ranks)
    dist.all_gather_object(found, round(statistics.median(trips)), group=group)
    return found[one]


def problem_of(
    placement: Sequence[int],
    microbatches: int,
    rank: int,
    samples: Samples,
    *,
    ranks: Sequence[int],
    group: Any = None,
    host: HostCosts | None = None,
    name: str = "job",
    memory_bytes: int | None = None,
) -> Problem:
    """The problem of the samples of all ranks, the same on each."""
    mine = {s: samples.value(s) for s, place in enumerate(placement) if place == rank}
    gathered: list[Any] = [None] * len(ranks)
    dist.all_gather_object(gathered, (mine, samples.host), group=group)
    stages: dict[int, Any] = {}
    times: dict[str, list[int]] = {}
    for values, of_host in gathered:
        stages.update(values)
        for key, found in of_host.items():
            times.setdefault(key, []).extend(found)
    if host is None:
        host = _host(times)
    own = (host.send_ns or 0) + (host.receive_ns or 0) + (host.wait_ns or 0)
    sizes = [stages[s]["bytes"][0] for s in range(len(placement) - 1)]
    links = measure_links(
        placement, rank, sizes, ranks=ranks, group=group, device=samples.device, own_ns=own
    )
    return Problem(
        name=name,
        microbatches=microbatches,
        ranks=[Rank(memory_bytes=memory_bytes) for _ in ranks],
        stages=[_stage(stages[s], placement[s]) for s in range(len(placement))],
        edges=[
            Edge(
                from_stage=s,
                to_stage=s + 1,
                bytes=stages[s]["bytes"][0],
                gradient_bytes=stages[s]["bytes"][1],
            )
            for s in range(len(placement) - 1)
        ],
        link=Link(latency_ns=0, bytes_per_us=None),
        links=links or None,
        host=host,
    )


def _host(times: dict[str, list[int]]) -> HostCosts:
    def median(key: str) -> int | None:
        return round(statistics.median(times[key])) if key in times else None

    # A task waits for a message that is there already, or until it comes: the shortest
    # waits are the host's.
    waits = sorted(times.get("wait", []))
    return HostCosts(
        action_ns=0,
        send_ns=median("send"),
        receive_ns=median("receive"),
        wait_ns=waits[len(waits) // 20] if waits else None,
    )


def _stage(value: dict[str, Any], rank: int) -> GraphStage:
    ns, held = value["ns"], value["held"]
    whole = ns["B"] if ns["B"] is not None else (ns["I"] or 0) + (ns["W"] or 0)
    if ns["I"] is None or ns["W"] is None:
        # It only runs whole backwards.
        ns["I"], ns["W"] = whole, 0
    return GraphStage(
        replicas=[Replica(rank=rank)],
        costs={
            "F": Cost(ns=ns["F"] or 0, takes_bytes=held),
            "I": Cost(ns=ns["I"]),
            "W": Cost(ns=ns["W"], frees_bytes=held),
            "B": Cost(ns=whole, frees_bytes=held),
        },
        parameter_bytes=value["trained"],
    )


def search(problem: Problem, now: Table, seconds: float) -> Found:
    """Searches in the first process, and gives the result to all: pipelines that are
    replicas of each other run one schedule. It is compared with `now`, or with a family
    for this placement if that is faster."""
    found: list[Any] = [None, None, None, None]
    if dist.get_rank() == 0:
        try:
            before, after = _searched(problem, now, seconds)
            found[:3] = problem.to_json(), before.to_json(), after.to_json()
        except Exception as error:
            # The other processes wait for it.
            found[3] = error
    dist.broadcast_object_list(found, src=0)
    if found[3] is not None:
        raise found[3]
    return Found.from_json(*found[:3])


def _searched(problem: Problem, now: Table, seconds: float) -> tuple[Schedule, Schedule]:
    known = []
    for family in _FAMILIES:
        try:
            known += command.simulate(problem, family)
        except command.NoCommand:
            raise
        except command.RondoError:
            # It is not for this placement, or does not fit.
            continue
    if now.microbatches == problem.microbatches:
        known.append(command.timed(now.tasks_csv(), problem))
    if not known:
        raise ValueError(
            f"{now.name} has {now.microbatches} micro-batches and the job "
            f"{problem.microbatches}, and no family is for this placement"
        )
    best = min(known, key=lambda s: s.makespan_ns or 0)
    searched = command.search(problem, time=seconds)
    is_better = (searched.makespan_ns or 0) < (best.makespan_ns or 0)
    return best, searched if is_better else best


# The families that clients have themselves, for their placements.
_FAMILIES = ("1f1b", "interleaved-1f1b", "dualpipe-v")
