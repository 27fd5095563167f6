#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write random problems whose micro-batches differ, a rondo-problem/2 line each.

    random_problems.py [--seed N] [--count N] [--large] > problems.jsonl

Lengths are packed documents (lognormal), one outlier, or images on the first
stages. Caps go from the largest micro-batch to none. The same seed gives the
same problems.
"""
import argparse
import json
import random


def lengths(rng, kind, count):
    """Tokens and squared lengths of packed documents, in small units."""
    rows = []
    for i in range(count):
        if kind == "outlier" and i == 0:
            tokens = rng.randint(10, 24)
        elif kind == "wide":
            tokens = max(1, min(40, round(rng.lognormvariate(1.2, 1.0))))
        else:
            tokens = max(1, round(rng.lognormvariate(1.6, rng.choice((0.3, 0.5)))))
        documents = rng.randint(1, 3)
        rows.append([tokens, max(1, tokens * tokens // (8 * documents))])
    rng.shuffle(rows)
    return rows


def problem(rng, name, large):
    kind = rng.choice(("packed", "wide", "outlier", "modal", "chunks", "links"))
    ranks = rng.choice((3, 4) if large else (2, 3, 4))
    count = rng.randint(5, 8) if large else rng.randint(3, {2: 8, 3: 6, 4: 5}[ranks])
    stages = 2 * ranks if kind == "chunks" and not large else ranks
    sizes = lengths(rng, kind, count)
    if kind == "modal":
        sizes = [row + [rng.choice((0, 0, rng.randint(2, 12)))] for row in sizes]
    costs, held = [], [[0] * count for _ in range(ranks)]
    keeps = rng.choice((0, 0, 1, 2))
    for stage in range(stages):
        image = kind == "modal" and stage < stages // 2
        scale = rng.choice((1, 2))
        row = {"F": {}, "I": {}, "W": {}}
        for key, pairs, tokens in (("F", 1, 1), ("I", 2, 1), ("W", 0, rng.choice((1, 1, 2)))):
            per = [tokens * scale, pairs] + ([2 if image else 0] if kind == "modal" else [])
            row[key]["ns"] = {"fixed": rng.choice((0, 1, 1)), "per_size": per, "over": rng.choice((1, 2))}
        takes = [4, 0] + ([4 if image else 0] if kind == "modal" else [])
        row["F"]["takes_bytes"] = {"per_size": takes}
        if keeps:
            row["I"]["frees_bytes"] = {"per_size": [keeps] + [0] * (len(takes) - 1)}
        row["W"]["frees_bytes"] = "rest"
        costs.append(row)
        for i, size in enumerate(sizes):
            held[stage % ranks][i] += sum(a * b for a, b in zip(takes, size))
    caps = []
    tight = rng.choice((None, 0, 0.15, 0.3, 0.5))
    for rank in range(ranks):
        least, most = max(held[rank]), sum(held[rank])
        caps.append({"memory_bytes": None if tight is None else least + int(tight * (most - least))})
    over = kind == "links"
    return {
        "format": "rondo-problem/2", "name": name, "microbatches": count, "sizes": sizes, "ranks": caps,
        "stages": [{"replicas": [{"rank": s % ranks}], "costs": costs[s]} for s in range(stages)],
        "edges": [{"from": s, "to": s + 1, "bytes": {"per_size": [rng.choice((1, 2))] + [0] * (len(sizes[0]) - 1)}
                   if over else 0} for s in range(stages - 1)],
        "link": {"latency_ns": rng.choice((0, 1, 2)), "bytes_per_us": rng.choice((1000, 2000)) if over else None}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for number in range(arguments.count):
        print(json.dumps(problem(rng, f"uneven-{arguments.seed}-{number}", arguments.large)))


if __name__ == "__main__":
    main()
