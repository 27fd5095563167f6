#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write random problems whose stages may copy to their hosts, a rondo-problem/2 line each.

    random_problems.py [--seed N] [--count N] [--scale N] > problems.jsonl

Chains, two chunks a rank (interleaved or V), shared host links, half-duplex host links, host caps, loads before W,
and later ranks that copy less. Caps start at the least with which all micro-batches can run. With --scale, ranks and
micro-batches are multiplied. The same seed gives the same problems.
"""
import argparse
import json
import random

KINDS = ("chain", "chain", "chain", "chain", "interleaved", "v", "v", "node", "half", "host", "late", "less", "tiny")


def problem(rng, name, scale):
    kind = rng.choice(KINDS)
    chunks = 2 if kind in ("interleaved", "v", "tiny") else 1
    ranks = scale * (rng.choice((2, 3)) if chunks == 2 else rng.choice((2, 3, 4)))
    microbatches = scale * (rng.randint(2, 5 if ranks == 2 * scale else 3) if chunks == 2 else rng.randint(3, 6))
    if ranks == 2 * scale and chunks == 1 and rng.random() < 0.3:
        microbatches = 8 * scale
    held = rng.choice((4, 6, 8, 12))
    freed = rng.choice((0, held // 2, held // 2, held * 3 // 4 if held % 4 == 0 else held * 2 // 3))
    most = held - freed if kind == "late" else held
    copied = rng.choice((most, most, most * 3 // 4, most // 2)) if most > 2 else most
    forward, input_grad, weight_grad = rng.randint(1, 6), rng.randint(2, 7), rng.randint(1, 5)
    work = forward + input_grad + weight_grad
    uneven = rng.random() < 0.5
    stated = rng.random() < 0.12
    latency = rng.choice((0, 0, 1))
    each = max(1, round(work * rng.choice((0.1, 0.2, 0.3, 0.3, 0.5, 0.7, 0.8))))
    rate = max(1, 1000 * copied // max(1, each - latency))
    if kind in ("interleaved", "v", "tiny"):
        factor = rng.choice((1, 1.5, 2, 2, 3))
    else:
        factor = rng.choice((1, 1, 1.5, 1.5, 2, 2, 3, 4))
    row = {"memory_bytes": int(held * factor)}
    if not stated:
        row["host_link"] = {"latency_ns": latency, "bytes_per_us": rate}
        if kind == "half":
            row["host_link"]["duplex"] = "half"
    if kind == "host":
        row["host_memory_bytes"] = copied * rng.choice((1, 2))
    stages = []
    for stage in range(ranks * chunks):
        wave, place = divmod(stage, ranks)
        rank = ranks - 1 - place if kind in ("v", "tiny") and wave else place

        def vary(ns):
            return max(1, ns + rng.choice((-1, 0, 0, 1))) if uneven else ns
        costs = {"F": {"ns": vary(forward), "takes_bytes": held},
                 "I": {"ns": vary(input_grad), "frees_bytes": freed},
                 "W": {"ns": vary(weight_grad), "frees_bytes": held - freed}}
        own = max(1, copied - rank * max(1, copied // ranks)) if kind == "less" else copied
        costs["SAVE"], costs["LOAD"] = {"frees_bytes": own}, {"takes_bytes": own}
        if kind == "late":
            costs["LOAD"]["before"] = "W"
        if stated:
            costs["SAVE"]["ns"], costs["LOAD"]["ns"] = each, max(1, each + rng.choice((-1, 0, 1)))
        stages.append({"replicas": [{"rank": rank}], "costs": costs})
    result = {"format": "rondo-problem/2", "name": f"{name}-{kind}", "microbatches": microbatches,
              "ranks": [dict(row) for _ in range(ranks)], "stages": stages,
              "edges": [{"from": s, "to": s + 1, "bytes": 0} for s in range(ranks * chunks - 1)],
              "link": {"latency_ns": rng.choice((0, 1, 2)), "bytes_per_us": None}}
    if kind == "node" and not stated:
        shared = [{"ranks": [first, first + 1]} for first in range(0, ranks - 1, 2)]
        if rng.random() < 0.2:
            for link in shared:
                link["duplex"] = "half"
        result["host_links"] = shared
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--scale", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for number in range(arguments.count):
        print(json.dumps(problem(rng, f"offload-{arguments.seed}-{number}", arguments.scale)))


if __name__ == "__main__":
    main()
