# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proves that the rows of a table run to their end: it runs them without any work.

Each action is visited once, and a second time if its rank waits there.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .table import Action, TableError

if TYPE_CHECKING:
    from .table import Table


def check(table: Table, queues: str) -> int:
    """The number of visits. Raises TableError at the first error."""
    if queues not in ("rank", "pair"):
        raise ValueError(f'queues is "rank" or "pair", not {queues!r}')
    return _Run(table, queues == "rank").run()


# Bits of what was done for a stage and micro-batch.
_F, _I, _W, _B = 1, 2, 4, 8
_TASKS = {"F": _F, "I": _I, "W": _W, "B": _B}
_MESSAGES = {
    "SEND_F": (True, True),
    "RECV_F": (False, True),
    "SEND_B": (True, False),
    "RECV_B": (False, False),
}
# Bits of a message.
_SENT, _POSTED, _ARRIVED = 1, 2, 4


class _Run:
    """A message has the number of its sender's stage and micro-batch, gradients after
    all activations."""

    def __init__(self, table: Table, is_one_queue: bool):
        self.table, self.is_one_queue = table, is_one_queue
        self.count = table.num_stages * table.microbatches
        self.done = bytearray(self.count)
        self.messages = bytearray(2 * self.count)
        # Keys are ranks, or a rank and both ends: messages and whether they are sends.
        self.queues: dict[object, deque[tuple[int, bool]]] = {}
        self.places = [0] * table.num_ranks
        self.ready = list(range(table.num_ranks))
        self.is_waiting = [False] * table.num_ranks

    def fail(self, rank: int, what: str) -> TableError:
        place = f"row {rank + 1}, column {self.places[rank] + 1}"
        action = self.table.rows[rank][self.places[rank]]
        return TableError(f"{self.table.name}, {place}: {action} {what}")

    def run(self) -> int:
        visits = 0
        while self.ready:
            rank = self.ready.pop()
            row, place = self.table.rows[rank], self.places[rank]
            step = self.step
            while place < len(row):
                visits += 1
                self.places[rank] = place
                if not step(rank, row[place]):
                    self.is_waiting[rank] = True
                    break
                place += 1
            self.places[rank] = place
        self.check_ends()
        return visits

    def step(self, rank: int, action: Action) -> bool:
        """Runs an action; False if it must wait."""
        stage, kind, index = action
        if index < 0:
            if kind == "REDUCE_GRAD":
                self.check_reduced(rank, stage)
            return True
        task = _TASKS.get(kind)
        if task:
            return self.run_task(rank, stage, index, task)
        message = _MESSAGES.get(kind)
        if message:
            self.post(rank, stage, index, *message)
            return True
        number = self.number(stage, index, kind == "WAIT_SEND_F")
        if not self.messages[number] & _SENT:
            raise self.fail(rank, "comes before its send")
        return bool(self.messages[number] & _ARRIVED)

    def number(self, stage: int, index: int, is_forward: bool) -> int:
        number = stage * self.table.microbatches + index
        return number if is_forward else number + self.count

    def run_task(self, rank: int, stage: int, index: int, task: int) -> bool:
        number = stage * self.table.microbatches + index
        done = self.done[number]
        if done & task:
            raise self.fail(rank, "is there twice")
        if task == _W:
            if not done & _I:
                raise self.fail(rank, f"comes before {stage}I{index}")
        elif task == _F:
            if stage > 0 and not self.has_input(rank, stage - 1, index, True):
                return False
        else:
            if not done & _F:
                raise self.fail(rank, f"comes before {stage}F{index}")
            if done & (_I | _B):
                raise self.fail(rank, f"is there as well as {stage}I{index}")
            if stage + 1 < self.table.num_stages:
                if not self.has_input(rank, stage + 1, index, False):
                    return False
        self.done[number] = done | task
        return True

    def has_input(self, rank: int, giver: int, index: int, is_forward: bool) -> bool:
        """Whether the activation or gradient of another stage is there."""
        if self.table.placement[giver] != rank:
            state = self.messages[self.number(giver, index, is_forward)]
            if not state & _POSTED:
                raise self.fail(rank, "comes before its receive")
            return bool(state & _ARRIVED)
        self.check_made(rank, giver, index, is_forward)
        return True

    def check_made(self, rank: int, giver: int, index: int, is_forward: bool) -> None:
        wanted = _F if is_forward else _I | _B
        if not self.done[giver * self.table.microbatches + index] & wanted:
            raise self.fail(rank, f"comes before {giver}{'F' if is_forward else 'I'}{index}")

    def post(self, rank: int, stage: int, index: int, is_send: bool, is_forward: bool) -> None:
        step = 1 if is_forward else -1
        giver = stage if is_send else stage - step
        taker = giver + step
        placement = self.table.placement
        if min(giver, taker) < 0 or max(giver, taker) >= len(placement):
            raise self.fail(rank, "has no stage at its other end")
        source, target = placement[giver], placement[taker]
        if source == target:
            raise self.fail(rank, f"is a message within rank {rank}")
        number = self.number(giver, index, is_forward)
        end = _SENT if is_send else _POSTED
        if self.messages[number] & end:
            raise self.fail(rank, "is there twice")
        if is_send:
            self.check_made(rank, giver, index, is_forward)
        self.messages[number] |= end
        key = rank if self.is_one_queue else (rank, source, target)
        self.queues.setdefault(key, deque()).append((number, is_send))
        self.match(source, target)

    def match(self, source: int, target: int) -> None:
        """Ends messages whose send and receive are both first in their queues."""
        pairs = [(source, target)]
        while pairs:
            source, target = pairs.pop()
            is_one = self.is_one_queue
            mine = self.queues.get(source if is_one else (source, source, target))
            theirs = self.queues.get(target if is_one else (target, source, target))
            if not mine or not theirs or not mine[0][1]:
                continue
            number = mine[0][0]
            if theirs[0] != (number, False):
                continue
            self.messages[number] |= _ARRIVED
            for rank, queue in ((source, mine), (target, theirs)):
                queue.popleft()
                if queue:
                    pairs.append(self.ends(queue[0][0]))
                if self.is_waiting[rank]:
                    self.is_waiting[rank] = False
                    self.ready.append(rank)

    def ends(self, message: int) -> tuple[int, int]:
        way, number = divmod(message, self.count)
        stage = number // self.table.microbatches
        placement = self.table.placement
        return placement[stage], placement[stage - 1 if way else stage + 1]

    def check_reduced(self, rank: int, stage: int) -> None:
        m = self.table.microbatches
        for index in range(m):
            if not self.done[stage * m + index] & (_W | _B):
                raise self.fail(rank, f"comes before {stage}W{index}")

    def check_ends(self) -> None:
        table = self.table
        stuck = [r for r, place in enumerate(self.places) if place < len(table.rows[r])]
        if stuck:
            told = ", ".join(f"rank {r} at {table.rows[r][self.places[r]]}" for r in stuck[:4])
            queue = "rank" if self.is_one_queue else "directed pair of ranks"
            raise TableError(
                f"{table.name} waits forever with one queue of messages a {queue}: {told}"
            )
        has_backwards = any(done != _F for done in self.done)
        for number, done in enumerate(self.done):
            stage, index = divmod(number, table.microbatches)
            if not done & _F:
                raise TableError(f"{table.name} has no {stage}F{index}")
            if has_backwards and not done & (_W | _B):
                raise TableError(f"{table.name} has neither {stage}W{index} nor {stage}B{index}")
