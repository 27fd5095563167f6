# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables: the tasks and messages of each rank, in order.

`rondo export torch-csv-comms` writes them. A row is a rank, a cell is an action such
as 0F1, 1RECV_F0 or 1REDUCE_GRAD.
"""

from __future__ import annotations

import os
import re
from collections import deque
from typing import TYPE_CHECKING, Iterable, NamedTuple, Sequence

from .. import command
from ..fields import FormatError

if TYPE_CHECKING:
    from ..problem import Problem
    from ..schedule import Schedule

TASKS = frozenset("FIWB")
SENDS = {"SEND_F": "RECV_F", "SEND_B": "RECV_B"}
RECEIVES = {"RECV_F": "SEND_F", "RECV_B": "SEND_B"}
WAITS = {"WAIT_SEND_F": "SEND_F", "WAIT_SEND_B": "SEND_B"}
# Actions of a stage as a whole.
OF_STAGE = frozenset(["REDUCE_GRAD", "WAIT_REDUCE_GRAD", "UNSHARD", "RESHARD"])
OF_FORWARD = frozenset(["F", "SEND_F", "RECV_F", "WAIT_SEND_F"])

_CELL = re.compile(r"(\d+)([A-Z][A-Z_]*)(\d*)")
_PAIR = re.compile(r"\(([^;()]*);([^;()]*)\)OVERLAP_F_B")


class TableError(ValueError):
    """A table that cannot be run, or that does not fit the job."""


class Action(NamedTuple):
    """A task F, I, W or B, a message, or an action of a whole stage, whose
    micro-batch is -1."""

    stage: int
    kind: str
    microbatch: int

    def __str__(self) -> str:
        index = "" if self.microbatch < 0 else str(self.microbatch)
        return f"{self.stage}{self.kind}{index}"


class Table:
    """The actions of each rank. `placement` is the rank of each stage. `name` is for
    errors. Raises TableError unless each stage is on one rank; check() finds all else
    that is wrong."""

    def __init__(self, rows: Iterable[Iterable[Action]], name: str = "the table"):
        self.rows = [list(row) for row in rows]
        self.name = name
        self.placement = self._place()
        self.microbatches = 1 + max(max([a[2] for a in row]) for row in self.rows)

    @staticmethod
    def from_csv(text: str, name: str = "the table") -> Table:
        lines = text.splitlines()
        return Table((_row(line, f"{name}, row {i + 1}") for i, line in enumerate(lines)), name)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Table:
        """A file of `rondo export torch-csv-comms`."""
        with open(path, encoding="utf-8-sig", newline="") as file:
            return Table.from_csv(file.read(), os.fspath(path))

    @staticmethod
    def of(
        schedule: Schedule | Table | str | os.PathLike[str],
        problem: Problem | None = None,
    ) -> Table:
        """The table of a schedule, of a file with one, or of a CSV file. `problem` is
        needed for a schedule that was read from a file."""
        from ..schedule import Schedule

        if isinstance(schedule, Table):
            return schedule
        if isinstance(schedule, Schedule):
            text = command.export("torch-csv-comms", schedule, problem)
            return Table.from_csv(text, f"the schedule of {schedule.problem!r}")
        if os.fspath(schedule).endswith(".json"):
            return Table.of(Schedule.read(schedule), problem)
        return Table.read(schedule)

    @staticmethod
    def forwards(placement: Sequence[int], microbatches: int) -> Table:
        """A table of forwards alone, for an evaluation of any number of micro-batches.
        Its messages have one order for all ranks."""
        rows: list[list[Action]] = [[] for _ in range(1 + max(placement))]
        stages = range(len(placement))
        order = sorted((m + s, -s, m) for s in stages for m in range(microbatches))
        for _, minus, index in order:
            stage = -minus
            here = rows[placement[stage]]
            here.append(Action(stage, "F", index))
            if stage < len(placement) - 1 and placement[stage] != placement[stage + 1]:
                if index > 0:
                    here.append(Action(stage, "WAIT_SEND_F", index - 1))
                here.append(Action(stage, "SEND_F", index))
                rows[placement[stage + 1]].append(Action(stage + 1, "RECV_F", index))
        return Table(rows, f"an evaluation of {microbatches} micro-batches")

    @staticmethod
    def plain(placement: Sequence[int], microbatches: int, *, whole: int = 0) -> Table:
        """A table to begin with: all forwards, then all backwards as I and W, or as B
        for the last `whole` micro-batches. It keeps the activations of all of them."""
        found = Table.forwards(placement, microbatches)
        rows, last = found.rows, len(placement) - 1
        order = sorted((m + last - s, s, m) for s in range(last + 1) for m in range(microbatches))
        for _, stage, index in order:
            here = rows[placement[stage]]
            is_whole = index >= microbatches - whole
            here.append(Action(stage, "B" if is_whole else "I", index))
            if stage > 0 and placement[stage] != placement[stage - 1]:
                if index > 0:
                    here.append(Action(stage, "WAIT_SEND_B", index - 1))
                here.append(Action(stage, "SEND_B", index))
                rows[placement[stage - 1]].append(Action(stage - 1, "RECV_B", index))
            if not is_whole:
                here.append(Action(stage, "W", index))
            if index == microbatches - 1:
                here.append(Action(stage, "REDUCE_GRAD", -1))
        return Table(rows, f"all forwards, then all backwards of {microbatches} micro-batches")

    def tasks_csv(self) -> str:
        """The tasks alone, as `rondo export torch-csv` writes them."""
        rows = [[str(a) for a in row if a.kind in TASKS] for row in self.rows]
        return "".join(",".join(row) + "\n" for row in rows)

    def _place(self) -> list[int]:
        ranks: dict[int, int] = {}
        for rank, row in enumerate(self.rows):
            if not row:
                raise TableError(f"{self.name}: rank {rank} has no action")
            for stage in {action[0] for action in row}:
                if ranks.setdefault(stage, rank) != rank:
                    raise TableError(
                        f"{self.name}: stage {stage} is on ranks {ranks[stage]} and {rank}"
                    )
        if not ranks:
            raise TableError(f"{self.name} has no row")
        for stage in range(len(ranks)):
            if stage not in ranks:
                raise TableError(f"{self.name}: stage {stage} is on no rank")
        return [ranks[stage] for stage in range(len(ranks))]

    @property
    def num_stages(self) -> int:
        return len(self.placement)

    @property
    def num_ranks(self) -> int:
        return len(self.rows)

    @property
    def loss_rank(self) -> int:
        """The rank of the last stage, which has the loss."""
        return self.placement[-1]

    def stages_of(self, rank: int) -> list[int]:
        """In ascending order."""
        return [s for s, place in enumerate(self.placement) if place == rank]

    def is_local(self, stage: int) -> bool:
        """Whether a stage and the next one are on one rank: no message is sent."""
        return self.placement[stage] == self.placement[stage + 1]

    def forward_only(self) -> Table:
        """The rows of an evaluation: forwards and their messages. The order that is
        left of messages cannot hang if the whole order cannot."""
        rows = [[a for a in row if a.kind in OF_FORWARD] for row in self.rows]
        return Table(rows, self.name)

    def descending(self) -> tuple[Action, Action] | None:
        """Two forwards of one stage that do not ascend, for clients that need them to."""
        newest: dict[int, Action] = {}
        for row in self.rows:
            for action in row:
                if action.kind == "F":
                    before = newest.get(action.stage)
                    if before is not None and before.microbatch > action.microbatch:
                        return before, action
                    newest[action.stage] = action
        return None

    def out_of_queue(self) -> tuple[Action, int] | None:
        """A W (or B) that does not come in the order of its stage's I, and the micro-batch
        whose turn it is: for clients that keep weight gradients in a queue a stage. A
        stage 0 has no I; its W is a whole backward."""
        queues: dict[int, deque[int]] = {}
        for row in self.rows:
            for action in row:
                stage, kind, index = action
                queue = queues.setdefault(stage, deque())
                if (kind == "I" and stage > 0) or kind == "B" or (kind == "W" and stage == 0):
                    queue.append(index)
                if kind in ("W", "B"):
                    # Without an I it is check()'s to say so.
                    first = queue.popleft() if queue else index
                    if first != index:
                        return action, first
        return None

    def has_split_backwards(self, stage: int) -> bool:
        """Whether a stage has I and W instead of B for some micro-batch."""
        row = self.rows[self.placement[stage]]
        return any(a.stage == stage and a.kind == "W" for a in row)

    def check(self, *, queues: str = "rank") -> None:
        """Raises TableError unless all rows run to their end, with each task and
        message once and after what it needs. `queues` is "rank": a rank's messages go
        through one queue in the order of its row, and a send ends when it is received;
        or "pair": one such queue for each directed pair of ranks."""
        from .check import check

        check(self, queues)

    def fit(
        self,
        *,
        stages: int | None = None,
        ranks: int | None = None,
        microbatches: int | None = None,
        ascending: bool = False,
        of: str = "the client",
    ) -> None:
        """Raises TableError unless a client has these numbers, and, with `ascending`,
        unless it can run each stage's forwards in ascending order of micro-batches."""
        found = [
            ("stages", self.num_stages, stages),
            ("ranks", self.num_ranks, ranks),
            ("micro-batches", self.microbatches, microbatches),
        ]
        for word, mine, theirs in found:
            if theirs is not None and mine != theirs:
                raise TableError(f"{self.name} has {mine} {word}, but {of} has {theirs}")
        pair = self.descending() if ascending else None
        if pair is not None:
            raise TableError(
                f"{self.name}: {pair[1]} comes after {pair[0]}, but {of} needs the "
                "forwards of a stage in ascending order of micro-batches"
            )


def _row(line: str, where: str) -> list[Action]:
    line = _PAIR.sub(r"\1,\2", line).strip()
    found = _CELL.findall(line)
    row = [Action(int(stage), kind, int(index or -1)) for stage, kind, index in found]
    known = TASKS | SENDS.keys() | RECEIVES.keys() | WAITS.keys()
    if (
        ",".join([stage + kind + index for stage, kind, index in found]) != line
        or not {action.kind for action in row} <= known | OF_STAGE
        or any((action.microbatch < 0) != (action.kind in OF_STAGE) for action in row)
    ):
        word = next((w for w in line.split(",") if not _is_action(w, known)), line)
        raise FormatError(
            f"{where}: {word!r} is not an action of `rondo export torch-csv-comms`"
        )
    return row


def _is_action(word: str, known: frozenset[str]) -> bool:
    found = _CELL.fullmatch(word)
    return found is not None and found[2] in (known if found[3] else OF_STAGE)
