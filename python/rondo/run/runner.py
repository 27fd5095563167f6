# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the row of one rank of a table, with the work of a client's hooks."""

from __future__ import annotations

import time
from typing import Any

from .table import Table


class Hooks:
    """The work of a client for a row. A value is whatever the client passes between
    stages: a tensor, a tuple, an array. Micro-batches come in the order of the table,
    so fetch data by index."""

    def as_input(self, stage: int, value: Any) -> Any:
        """The input of a stage: an output of the stage before it, or what was received,
        cut off from that stage's graph."""
        return value

    def forward(self, stage: int, microbatch: int, x: Any) -> Any:
        """F. `x` is None in stage 0. The last stage returns the loss, as it is to be
        differentiated."""
        raise NotImplementedError

    def input_grad(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> Any:
        """I of a stage that is not the first. The result goes to weight_grad. `grad` is
        None in the last stage."""
        raise NotImplementedError

    def weight_grad(self, stage: int, microbatch: int, token: Any) -> None:
        """W of a stage that is not the first."""
        raise NotImplementedError

    def backward(self, stage: int, microbatch: int, y: Any, grad: Any, x: Any) -> None:
        """B, and W of stage 0, which has no input gradient."""
        raise NotImplementedError

    def gradient(self, stage: int, x: Any) -> Any:
        """The gradient of an input, after I or B."""
        raise NotImplementedError

    def after_weight(self, stage: int, microbatch: int) -> None:
        """Called after each W and B."""

    def reduce(self, stage: int) -> None:
        """Called after the last W or B of a stage: its gradients may be reduced."""

    def send(self, stage: int, kind: str, value: Any, rank: int) -> Any:
        """Starts to send the output ("F") or the input's gradient ("B") of a stage. The
        result goes to wait."""
        raise NotImplementedError

    def receive(self, stage: int, kind: str, rank: int) -> tuple[Any, Any]:
        """Starts to receive the input ("F") of a stage or its output's gradient ("B").
        Returns the value, which is there after wait, and what wait takes."""
        raise NotImplementedError

    def wait(self, work: Any) -> None:
        raise NotImplementedError


class Trace:
    """Gets the times of a step, in ns. An action's own time is without the wait for
    what it needs."""

    def action(self, stage: int, kind: str, microbatch: int, took: int) -> None:
        """Called after each action, WAIT_SEND_F and WAIT_SEND_B too."""

    def waited(self, took: int) -> None:
        """Called after each wait of a task for a message."""

    def synchronize(self) -> None:
        """Called before each reading of the clock: waits for the device's work."""


def run(
    table: Table,
    rank: int,
    hooks: Hooks,
    *,
    forward_only: bool = False,
    trace: Trace | None = None,
) -> None:
    """Runs one step of a rank. With `forward_only` the table is one of
    Table.forward_only(), and values are dropped once they were passed on."""
    if trace is None:
        _Step(table, rank, hooks, forward_only).run()
        return
    step = _TracedStep(table, rank, hooks, forward_only)
    step.trace = trace
    step.run()


_Key = tuple[int, int]


class _Step:
    def __init__(self, table: Table, rank: int, hooks: Hooks, forward_only: bool):
        self.table, self.rank, self.hooks = table, rank, hooks
        self.forward_only = forward_only
        self.last = table.num_stages - 1
        # Keys are a stage and a micro-batch: inputs and outputs from F to the backward, what
        # goes to a stage's F and backward, what leaves it, and what I keeps for W.
        self.saved: dict[_Key, tuple[Any, Any]] = {}
        self.incoming: dict[tuple[str, int, int], tuple[Any, Any]] = {}
        self.outgoing: dict[tuple[str, int, int], Any] = {}
        self.tokens: dict[_Key, Any] = {}
        self.sends: dict[tuple[str, int, int], Any] = {}

    def run(self) -> None:
        for stage, kind, index in self.table.rows[self.rank]:
            self.act(stage, kind, index)
        for work in self.sends.values():
            self.hooks.wait(work)

    def act(self, stage: int, kind: str, index: int) -> None:
        if kind == "F":
            self.forward(stage, index)
        elif kind == "I":
            self.input_grad(stage, index)
        elif kind == "W":
            self.weight_grad(stage, index)
        elif kind == "B":
            self.backward(stage, index)
        elif kind.startswith("SEND_"):
            self.send(stage, kind[-1], index)
        elif kind.startswith("RECV_"):
            peer = self.neighbour(stage, kind[-1], sends=False)
            received = self.hooks.receive(stage, kind[-1], self.table.placement[peer])
            self.incoming[kind[-1], stage, index] = received
        elif kind.startswith("WAIT_SEND_"):
            self.hooks.wait(self.sends.pop((kind[-1], stage, index)))
        elif kind == "REDUCE_GRAD":
            self.hooks.reduce(stage)

    def neighbour(self, stage: int, kind: str, *, sends: bool) -> int:
        return stage + 1 if (kind == "F") == sends else stage - 1

    def take(self, kind: str, stage: int, index: int) -> Any:
        """The activation or gradient that a task needs."""
        value, work = self.incoming.pop((kind, stage, index))
        if work is not None:
            self.wait(work)
        return value

    def wait(self, work: Any) -> None:
        self.hooks.wait(work)

    def give(self, kind: str, stage: int, index: int, value: Any) -> None:
        """Passes on what a task has made: to a stage of this rank, or to a message."""
        to = self.neighbour(stage, kind, sends=True)
        if self.table.placement[to] == self.rank:
            self.incoming[kind, to, index] = value, None
        else:
            self.outgoing[kind, stage, index] = value

    def send(self, stage: int, kind: str, index: int) -> None:
        peer = self.table.placement[self.neighbour(stage, kind, sends=True)]
        value = self.outgoing.pop((kind, stage, index))
        self.sends[kind, stage, index] = self.hooks.send(stage, kind, value, peer)

    def forward(self, stage: int, index: int) -> None:
        x = None
        if stage > 0:
            x = self.hooks.as_input(stage, self.take("F", stage, index))
        y = self.hooks.forward(stage, index, x)
        if stage < self.last:
            self.give("F", stage, index, y)
        if not self.forward_only:
            self.saved[stage, index] = x, y

    def output_grad(self, stage: int, index: int) -> Any:
        return None if stage == self.last else self.take("B", stage, index)

    def input_grad(self, stage: int, index: int) -> None:
        grad = self.output_grad(stage, index)
        if stage == 0:
            self.tokens[stage, index] = grad
            return
        x, y = self.saved.pop((stage, index))
        self.tokens[stage, index] = self.hooks.input_grad(stage, index, y, grad, x)
        self.give("B", stage, index, self.hooks.gradient(stage, x))

    def weight_grad(self, stage: int, index: int) -> None:
        token = self.tokens.pop((stage, index))
        if stage == 0:
            x, y = self.saved.pop((stage, index))
            self.hooks.backward(stage, index, y, token, x)
        else:
            self.hooks.weight_grad(stage, index, token)
        self.hooks.after_weight(stage, index)

    def backward(self, stage: int, index: int) -> None:
        grad = self.output_grad(stage, index)
        x, y = self.saved.pop((stage, index))
        self.hooks.backward(stage, index, y, grad, x)
        if stage > 0:
            self.give("B", stage, index, self.hooks.gradient(stage, x))
        self.hooks.after_weight(stage, index)


class _TracedStep(_Step):
    trace: Trace

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.waited = 0

    def act(self, stage: int, kind: str, index: int) -> None:
        self.waited = 0
        self.trace.synchronize()
        begin = time.perf_counter_ns()
        super().act(stage, kind, index)
        self.trace.synchronize()
        took = time.perf_counter_ns() - begin
        self.trace.action(stage, kind, index, took - self.waited)

    def wait(self, work: Any) -> None:
        begin = time.perf_counter_ns()
        super().wait(work)
        self.waited = time.perf_counter_ns() - begin
        self.trace.waited(self.waited)
