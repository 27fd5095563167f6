#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ZeroPP's units: zeropp.py RONDO.

Orders, bubbles by unit, and times beside 1F1B, interleaved and breadth-first schedules.
Messages are free, and state is not sharded.
"""

import sys

from problems import problem, row, simulate

RONDO = sys.argv[1]


def looped(ranks, chunks, microbatches, times):
    """Stage q on rank q mod P."""
    return problem("looped", ranks, microbatches, [q % ranks for q in range(ranks * chunks)], times)


def orders():
    ranks, chunks, unit = 3, 2, 3
    schedule = simulate(RONDO, [looped(ranks, chunks, unit, (1, 1, 1))], f"blockwise:u={unit}")[0]
    print(f"order, P = {ranks}, V = {chunks}, U = {unit}, one unit: makespan {schedule['makespan_ns']}, "
          f"slots {schedule['peak_memory_bytes']}")
    for rank, tasks in enumerate(schedule["ranks"]):
        named = []
        for task in tasks:
            kind = next(c for c in task if c.isalpha())
            stage, index = task.split(kind)
            named.append(f"{kind}{int(stage) // ranks}.{index}")
        print(f"d{rank}", *named)


def bubbles():
    print("\nbubble, makespan less a rank's work, of three units")
    row("P, V", "F, I, W", "by U")
    for ranks, chunks, times, units in (
        (4, 1, (1, 1, 1), (4, 5, 6, 7)),
        (4, 2, (1, 1, 1), (4, 5, 7, 8, 12)),
        (4, 4, (1, 1, 1), (4, 8)),
        (3, 1, (1, 1, 1), (3, 4, 5, 6)),
        (4, 2, (1, 2, 1), (4, 7)),
        (4, 2, (2, 2, 1), (4, 7)),
        (4, 2, (1, 1.2, 0.8), (4, 7)),
    ):
        found = []
        for unit in units:
            scaled = [round(10 * t) for t in times]
            made = simulate(RONDO, [looped(ranks, chunks, 3 * unit, scaled)], f"blockwise:u={unit}")[0]
            found.append(f"{unit}: {(made['makespan_ns'] - 3 * unit * chunks * sum(scaled)) / 10:g}")
        row(f"{ranks}, {chunks}", ",".join(f"{t:g}" for t in times), ", ".join(found))


def comparison():
    print("\niteration time, F = I = W = 1 for each chunk; slots of ZeroPP, U = P")
    row("P, V, M", "1F1B", "interl.", "breadth", "ZeroPP", "slots", "of 1F1B", "of br.")
    for ranks, chunks, microbatches in ((4, 2, 4), (4, 2, 8), (4, 2, 16), (8, 2, 8), (8, 4, 8), (8, 2, 16)):
        # 1F1B has one stage per rank, which holds all its chunks.
        whole = problem("whole", ranks, microbatches, range(ranks), (chunks, chunks, chunks))
        base = simulate(RONDO, [whole], "1f1b")[0]["makespan_ns"]
        cut = [looped(ranks, chunks, microbatches, (1, 1, 1))]
        interleaved = simulate(RONDO, cut, "interleaved-1f1b")[0]["makespan_ns"]
        breadth = simulate(RONDO, cut, "looped-bfs")[0]["makespan_ns"]
        units = simulate(RONDO, cut, f"blockwise:u={ranks}")[0]
        time = units["makespan_ns"]
        row(f"{ranks}, {chunks}, {microbatches}", base, interleaved, breadth, time, max(units["peak_memory_bytes"]),
            f"{base / time:.2f}x", f"{breadth / time:.2f}x")


orders()
bubbles()
comparison()
