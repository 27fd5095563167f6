# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves messages of exported schedules and asks which orders hang.

    queues.py SCRATCH SCHEDULES PROBLEMS

Each schedule is exported as torch-csv-comms of a version without waits. Then
receives move to earlier places and sends to later ones, in one order at both
ends of each directed pair of ranks. `rondo import` must refuse exactly what
stands still in the model below, with one queue a rank and with one a pair.
"""

import pathlib
import random
import re
import subprocess
import sys

SCRATCH, SCHEDULES, PROBLEMS = map(pathlib.Path, sys.argv[1:])
MOVED_PER_SCHEDULE = 12
CELL = re.compile(r"(\d+)([A-Z_]+)(\d*)")


def rondo(*words):
    return subprocess.run(["rondo", *map(str, words)], capture_output=True, text=True, check=False)


def read(text):
    """By rank: (stage, kind, micro-batch)."""
    rows = [line.split(",") for line in text.split()]
    return [[(int(s), k, int(m or 0)) for s, k, m in (CELL.fullmatch(c).groups() for c in row)] for row in rows]


def written(cell):
    stage, kind, microbatch = cell
    return f"{stage}{kind}" + ("" if kind in {"UNSHARD", "RESHARD"} else str(microbatch))


def message_of(cell):
    """The stages that a send or receive is between, and its micro-batch."""
    stage, kind, microbatch = cell
    step = 1 if kind.endswith("F") else -1
    return (stage, stage + step, microbatch) if kind.startswith("SEND") else (stage - step, stage, microbatch)


def is_message(cell):
    return cell[1].startswith(("SEND", "RECV"))


def input_of(cell, last):
    """The message that a task needs; a stage's neighbour may be on its rank."""
    stage, kind, microbatch = cell
    if kind == "F" and stage > 0:
        return (stage - 1, stage, microbatch)
    if kind in "IB" and stage < last:
        return (stage + 1, stage, microbatch)
    return None


def ends(rows, one_queue):
    """Whether all ranks get to their ends: hosts issue messages and go on, tasks
    wait for theirs, and a message moves while it is at the head of both queues."""
    last = max(cell[0] for row in rows for cell in row)
    rank_of = {cell[0]: rank for rank, row in enumerate(rows) for cell in row}
    next_of, queues, done = [0] * len(rows), {}, set()

    def names(cell, rank):
        source, target, _ = message_of(cell)
        return rank if one_queue else (rank, rank_of[source], rank_of[target])

    moved = True
    while moved:
        moved = False
        for rank, row in enumerate(rows):
            while next_of[rank] < len(row):
                cell = row[next_of[rank]]
                if is_message(cell):
                    queues.setdefault(names(cell, rank), []).append(message_of(cell))
                elif cell[1] in "FIB":
                    need = input_of(cell, last)
                    if need and rank_of[need[0]] != rank and need not in done:
                        break
                next_of[rank] += 1
                moved = True
        for key, queue in queues.items():
            if not queue:
                continue
            source, target, _ = message = queue[0]
            here = key if one_queue else key[0]
            there = rank_of[target] if rank_of[source] == here else rank_of[source]
            other = queues.get(there if one_queue else (there, rank_of[source], rank_of[target]))
            if other and other[0] == message:
                queue.pop(0)
                other.pop(0)
                done.add(message)
                moved = True
    return all(n == len(row) for n, row in zip(next_of, rows)) and not any(queues.values())


def keeps_order(rows):
    """Whether both ends of each directed pair of ranks have one order."""
    rank_of = {cell[0]: rank for rank, row in enumerate(rows) for cell in row}
    orders = {}
    for rank, row in enumerate(rows):
        for cell in filter(is_message, row):
            source, target, _ = message_of(cell)
            orders.setdefault((rank_of[source], rank_of[target]), {}).setdefault(rank, []).append(message_of(cell))
    return all(len({tuple(order) for order in both.values()}) == 1 for both in orders.values())


def move(rows, chance):
    """One message to an earlier or later place of its rank."""
    row = chance.choice([row for row in rows if any(map(is_message, row))])
    place = chance.choice([i for i, cell in enumerate(row) if is_message(cell)])
    cell = row.pop(place)
    # After the task that makes the data, or before the one that needs it.
    if cell[1].startswith("SEND"):
        row.insert(chance.randint(place, len(row)), cell)
    else:
        row.insert(chance.randint(0, place), cell)


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    counts, wrong = {}, 0
    for line in range(1, len(SCHEDULES.read_text().splitlines()) + 1):
        options = ["--problem", PROBLEMS, "--line", line, "--torch", "2.9"]
        sound = read(rondo("export", "torch-csv-comms", SCHEDULES, *options).stdout)
        for number in range(MOVED_PER_SCHEDULE):
            rows = [list(row) for row in sound]
            for _ in range(number):
                before = [list(row) for row in rows]
                move(rows, chance)
                if not keeps_order(rows):
                    rows = before
            text = "\n".join(",".join(map(written, row)) for row in rows)
            moved = SCRATCH / "moved.csv"
            moved.write_text(text + "\n")
            for queues in "rank", "pair":
                done = rondo("import", "torch-csv-comms", moved, "--torch", "2.9", "--queues", queues)
                expected = ends(rows, queues == "rank")
                counts[queues, expected] = counts.get((queues, expected), 0) + 1
                if (done.returncode == 0) != expected or (not expected and "[L2]" not in done.stderr):
                    wrong += 1
                    (SCRATCH / f"wrong-{wrong}.csv").write_text(text + "\n")
                    print(f"wrong-{wrong}.csv, --queues {queues}: {done.returncode}, ends: {expected}; {done.stderr}")
    for queues in "rank", "pair":
        print(f"--queues {queues}: {counts.get((queues, True), 0)} end, {counts.get((queues, False), 0)} hang")
    print(f"wrong: {wrong}")


if __name__ == "__main__":
    main()
