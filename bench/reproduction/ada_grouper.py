#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kFkB if messages occupy their links: ada_grouper.py RONDO.

Orders, iteration times by k and c, gains over 1F1B, candidates for one memory limit,
and what a search finds with 1F1B's memory. A forward takes 1, a backward 2.
"""

import sys

from problems import problem, row, search, simulate

RONDO = sys.argv[1]
UNIT = 4  # ns, so that quarters are whole


def chain(stages, microbatches, c, cap=None):
    return problem(f"c={c}", stages, microbatches, range(stages), (UNIT, UNIT, UNIT), cap, int(UNIT * c))


def orders():
    for stages, microbatches in ((3, 6), (4, 8)):
        print(f"orders, S = {stages}, M = {microbatches}")
        for k in (1, 2, 3):
            schedule = simulate(RONDO, [chain(stages, microbatches, 0)], f"kfkb:k={k}")[0]
            # k = 3 differs from k = 2 in what a stage holds.
            for stage, tasks in enumerate(schedule["ranks"] if k < 3 else []):
                print(f"k={k} stage {stage}:", *(task[1:] for task in tasks))
            print(f"k={k} peaks:", *schedule["peak_memory_bytes"])


def makespans():
    costs = (0, 0.25, 0.5, 1, 1.5, 2, 3)
    print("\niteration time by c")
    row("S, M, k", *costs)
    for stages, microbatches, groups in ((3, 6, (1, 2, 3)), (4, 8, (1, 2, 4, 8)), (4, 16, (1, 2, 4, 8, 16))):
        problems = [chain(stages, microbatches, c) for c in costs]
        for k in groups:
            times = [s["makespan_ns"] / UNIT for s in simulate(RONDO, problems, f"kfkb:k={k}")]
            row(f"{stages}, {microbatches}, {k}", *(f"{t:g}" for t in times))


def gains():
    """20 ns per forward, to make tenths whole. Memory is that of k = 2, twice 1F1B's."""
    costs = (0.1, 0.25, 0.5, 0.75, 1)
    print("\ngain over 1F1B by c/F, percent")
    row("", *costs)
    for stages, microbatches in ((4, 16), (8, 32)):
        problems = [problem(f"c={c}", stages, microbatches, range(stages), (20, 20, 20), None, int(20 * c)) for c in costs]
        base = [s["makespan_ns"] for s in simulate(RONDO, problems, "1f1b")]
        grouped = [s["makespan_ns"] for s in simulate(RONDO, problems, "kfkb:k=2")]
        row(f"{stages}, {microbatches} k=2", *(f"{100 * (a / b - 1):.1f}" for a, b in zip(base, grouped)))
        caps = list(range(stages, 0, -1))
        tight = [{**p, "ranks": [{"memory_bytes": cap} for cap in caps]} for p in problems]
        found = [s["makespan_ns"] for s in search(RONDO, tight, 2000)]
        row("searched", *(f"{100 * (a / b - 1):.1f}" for a, b in zip(base, found)))
    print("searched: I and W apart, with the memory of 1F1B")


def candidates():
    """64 samples; F(b) = 0.4 + 0.6 b, B = 2 F, c = b / speed; k b <= 4. Times of 3000 ns."""
    speeds = (100, 8, 4, 2, 1.5, 1)
    print("\niteration time of candidates by link speed, S = 4, 64 samples")
    row("k, b, M", *speeds)
    for k, b in ((1, 4), (2, 2), (4, 1)):
        forward = round(3000 * (0.4 + 0.6 * b))
        problems = [problem(f"{s}", 4, 64 // b, range(4), (forward, forward, forward), None, round(3000 * b / s))
                    for s in speeds]
        times = [s["makespan_ns"] / 3000 for s in simulate(RONDO, problems, f"kfkb:k={k}")]
        row(f"{k}, {b}, {64 // b}", *(f"{t:.2f}" for t in times))


orders()
makespans()
gains()
candidates()
