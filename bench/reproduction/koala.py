#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The space of joint orders, and its optimum under memory caps: koala.py RONDO.

One stage per rank, F = 1, fused B = 2, micro-batches in order. `c` is a latency without occupancy.
Each joint order is judged by `rondo verify`; the optimum is that of `rondo search`.
"""

import itertools
import json
import sys

from problems import problem, row, run, search

RONDO = sys.argv[1]


def orders(microbatches):
    """Orders of one stage: each prefix has at least as many F as B."""

    def extend(order, forwards, backwards):
        if backwards == microbatches:
            yield order
            return
        if forwards < microbatches:
            yield from extend(order + [("F", forwards)], forwards + 1, backwards)
        if backwards < forwards:
            yield from extend(order + [("B", backwards)], forwards, backwards + 1)

    return list(extend([], 0, 0))


def legal(stages, microbatches, makespan=None):
    """The number of joint orders that verify, with this makespan if given, and of all."""
    whole = problem("p", stages, microbatches, range(stages), (1, 2, 0))
    schedules = []
    for joint in itertools.product(orders(microbatches), repeat=stages):
        ranks = [[f"{s}{kind}{i}" for kind, i in order] for s, order in enumerate(joint)]
        claim = {} if makespan is None else {"makespan_ns": makespan}
        schedules.append({"format": "rondo-schedule/1", "problem": "p", "ranks": ranks, **claim})
    verdicts = run(RONDO, "verify", "--json", "--problems", "@problems", "--schedules", "@schedules",
                   problems=[whole], schedules=schedules)
    return sum(json.loads(v)["legal"] for v in verdicts), len(schedules)


def optima(stages, microbatches, latency):
    """[cap]: the optimum as text; ? if it is not proved."""
    problems = [problem(f"cap {cap}", stages, microbatches, range(stages), (1, 2, 0), cap, 0, latency)
                for cap in range(1, microbatches + 1)]
    found = search(RONDO, problems, 1000)
    return [f"{s['makespan_ns']}{'' if s['proven_optimal'] else '?'}" for s in found]


print("joint orders free of deadlock, of all, and with the optimum; optimum by cap at c = 0 and c = 1")
row("S, M", "legal", "all", "optimal", "c = 0", "c = 1")
for stages, microbatches in ((2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (4, 2)):
    free, all_orders = legal(stages, microbatches)
    at_0, at_1 = optima(stages, microbatches, 0), optima(stages, microbatches, 1)
    best, _ = legal(stages, microbatches, int(at_0[-1]))
    row(f"{stages}, {microbatches}", free, all_orders, best, " ".join(at_0), " ".join(at_1))
