#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random problems of 60 to 360 tasks for bench/search.

    bench/search/mixed_problems.py [--count N] [--seed N] > FOLDER/mixed.problems.jsonl
    rondo search --problems FOLDER/mixed.problems.jsonl --output best.jsonl --time-limit-ms 20000
    bench/search/mixed_problems.py --best best.jsonl > FOLDER/mixed.optima.json
    build/bench/search --oracles=FOLDER --only=mixed --every=1

The kinds take turns:

- model: a chain of equal layers with a larger first stage and a heavy head,
  costs in us, links with latency or bandwidth;
- ranks: one slower rank and one slower link;
- drawn: each stage's costs drawn on their own, permuted and random placements;
- bytes: activations drawn for each stage, caps for each rank;
- frees: I frees everything, most, nothing, or everything on every other stage.

Placements have one to three stages a rank. A cap is a random share of what all
micro-batches hold, and at least what one micro-batch of all stages of its rank
holds, so every problem has a schedule. The same arguments give the same
problems. --best writes what is known of them from schedules of a long search.
"""

import argparse
import json
import random

PLACEMENTS = ["looped", "v", "wave", "linear", "permuted"]


def place(draw, shape, ranks, rows):
    """The rank of each stage."""
    if shape == "looped":
        return list(range(ranks)) * rows
    if shape in ("v", "wave"):
        down = list(range(ranks))
        return [rank for row in range(rows) for rank in (down if row % 2 == 0 else down[::-1])]
    if shape == "permuted":
        stages = list(range(ranks)) * rows
        draw.shuffle(stages)
        return stages
    return list(range(ranks))


def model_costs(draw, stages):
    """Layers of equal time; the first stage has an embedding, the last a head."""
    forward = draw.randrange(20, 60) * 1000
    backward = int(forward * draw.choice([1.0, 1.1, 1.3, 1.5]))
    weights = int(forward * draw.choice([0.5, 0.7, 0.9]))
    layers = [1] * stages
    for stage in range(draw.choice([0, 0, 1, 2])):
        layers[stage] = 2
    head = draw.choice([0.5, 1.0, 1.8])
    costs = [[forward * n, backward * n, weights * n] for n in layers]
    costs[0] = [costs[0][0] + 2000, costs[0][1], costs[0][2] + 2000]
    costs[-1] = [int(each + head * forward) for each in costs[-1]]
    held = draw.randrange(4, 20) * 1000
    frees = draw.choice([0, 0, 0.5])
    return costs, [held * n for n in layers], [int(held * n * frees) for n in layers]


def rank_costs(draw, ranks):
    """Equal stages on ranks of which one is slower."""
    slow = draw.randrange(max(ranks) + 1)
    times = draw.choice([1.3, 1.5, 2.0])
    base = [draw.choice([25, 33, 50, 100])]
    base += [int(base[0] * draw.choice([1.05, 1.3, 1.8])), int(base[0] * draw.choice([0.5, 0.7, 0.8]))]
    costs = [[int(each * (times if rank == slow else 1)) for each in base] for rank in ranks]
    held = draw.choice([2, 6, 9])
    return costs, [held] * len(ranks), [held * draw.choice([0, 0, 1]) // 2] * len(ranks)


def drawn_costs(draw, stages):
    """Every time on its own."""
    costs = [[draw.randrange(3, 11), draw.randrange(3, 11), draw.randrange(2, 9)] for _ in range(stages)]
    held = draw.choice([2, 4, 6])
    return costs, [held] * stages, [held * draw.choice([0, 1]) // 2] * stages


def byte_costs(draw, stages):
    """Nearly equal times, activations of 3 to 9 bytes."""
    base = [draw.randrange(5, 14), draw.randrange(5, 16), draw.randrange(4, 14)]
    costs = [[each + draw.randrange(-1, 2) for each in base] for _ in range(stages)]
    held = [draw.randrange(3, 10) for _ in range(stages)]
    return costs, held, [draw.randrange(each // 2 + 1) for each in held]


def freed_costs(draw, stages):
    """I frees all, most, nothing, or alternates."""
    costs = [[draw.randrange(8, 12), draw.randrange(8, 14), draw.randrange(5, 13)] for _ in range(stages)]
    kind = draw.choice(["all", "most", "none", "alternating"])
    frees = {"all": [10] * stages, "most": [9] * stages, "none": [0] * stages,
             "alternating": [10 * (s % 2) for s in range(stages)]}[kind]
    return costs, [10] * stages, frees


def make_links(draw, kind, ranks):
    """The link of all pairs, and those that differ."""
    if kind == "model":
        return {"latency_ns": draw.choice([0, 2000, 5000]), "bytes_per_us": draw.choice([None, 25000, 50000])}, []
    if kind != "ranks":
        return {"latency_ns": draw.randrange(4), "bytes_per_us": None}, []
    latency, speed = draw.choice([2, 10, 20]), draw.choice([None, 60000, 100000])
    first = draw.randrange(ranks - 1)
    slower = {"latency_ns": 5 * latency, "bytes_per_us": speed and speed // 5}
    return ({"latency_ns": latency, "bytes_per_us": speed},
            [{"from": first, "to": first + 1, **slower}, {"from": first + 1, "to": first, **slower}])


def make_problem(draw, number):
    kind = ["model", "ranks", "drawn", "bytes", "frees", "model"][number % 6]
    shape = draw.choice(["looped", "looped"] + PLACEMENTS)
    rows = 1 if shape == "linear" else draw.choice([2, 2, 3]) if kind != "model" else 2
    num_ranks = draw.choice([4, 5, 6, 8] if shape == "linear" else [3, 4, 5, 5, 6])
    microbatches = draw.choice([6, 7, 8, 10, 12])
    ranks = place(draw, shape, num_ranks, rows)
    while 3 * len(ranks) * microbatches > 360:
        microbatches -= 1
    stages = len(ranks)
    costs, held, frees = {
        "model": lambda: model_costs(draw, stages),
        "ranks": lambda: rank_costs(draw, ranks),
        "drawn": lambda: drawn_costs(draw, stages),
        "bytes": lambda: byte_costs(draw, stages),
        "frees": lambda: freed_costs(draw, stages),
    }[kind]()
    share = draw.choice([0.3, 0.45, 0.6, 0.8, 1.0])
    caps = []
    for rank in range(num_ranks):
        one = sum(each for each, on in zip(held, ranks) if on == rank)
        if kind == "bytes":
            share = draw.uniform(0.3, 1.0)
        caps.append(max(one, int(one * share * min(microbatches, num_ranks))))
    if kind != "bytes":
        caps = [max(caps)] * num_ranks
    link, links = make_links(draw, kind, num_ranks)
    size = 200000 if kind == "model" else 1000
    return {
        "format": "rondo-problem/1",
        "name": f"{kind}{number:03}-{shape}{rows}-p{num_ranks}-m{microbatches}",
        "microbatches": microbatches,
        "ranks": [{"memory_bytes": cap} for cap in caps],
        "stages": [{"rank": rank, "forward_ns": ns[0], "input_grad_ns": ns[1], "weight_grad_ns": ns[2],
                    "activation_bytes": each, "input_grad_frees_bytes": freed, "output_bytes": size * draw.choice([1, 2])}
                   for rank, ns, each, freed in zip(ranks, costs, held, frees)],
        "link": link,
        "links": links,
        "objective": "makespan",
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=118)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--best", metavar="SCHEDULES")
    options = arguments.parse_args()
    if options.best:
        with open(options.best) as lines:
            schedules = [json.loads(line) for line in lines]
        print(json.dumps({each["problem"]: {"best_ns": each["makespan_ns"], "lower_bound_ns": each["lower_bound_ns"],
                                            "proven": each["proven_optimal"]} for each in schedules}, indent=0))
        return
    draw = random.Random(options.seed)
    for number in range(options.count):
        print(json.dumps(make_problem(draw, number)))


if __name__ == "__main__":
    main()
