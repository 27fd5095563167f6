#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulate orders of micro-batches that differ, at the scale of real iterations.

    bench/uneven/scale.py RONDO [--effort N] [--seed N] [--count N]

Lengths of documents are lognormal with sigma 0.4, 0.7 and 1.0, or equal but for
one of 4 times the tokens, or have images on the first half of the stages. A
stage takes a * tokens + b * squared lengths; a rank holds 1F1B's bytes for
mean micro-batches, or one and a half times the largest micro-batch. Prints mean
times relative to 1F1B in the given order, and the seconds of the search beside
those of the iteration.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import tempfile

KINDS = ("sigma 0.4", "sigma 0.7", "sigma 1.0", "outlier", "images")
FAMILIES = ("1f1b", "1f1b:order=ascending", "1f1b:order=best", "zb-h1", "zb-h1:order=best")


def problem(rng, name, kind, ranks):
    count = 2 * ranks
    sigma = float(kind.split()[1]) if kind.startswith("sigma") else 0.2
    tokens = [max(64, round(2048 * rng.lognormvariate(-sigma * sigma / 2, sigma))) for _ in range(count)]
    if kind == "outlier":
        tokens = [2048] * count
        tokens[rng.randrange(count)] = 4 * 2048
    images = [rng.choice((0, 0, 1024, 4096)) if kind == "images" else 0 for _ in tokens]
    sizes = [[t, t * t // 1024, i] for t, i in zip(tokens, images)]
    cap = max(ranks * sum(tokens) // count, 3 * max(tokens) // 2)
    stages = []
    for stage in range(ranks):
        image = 60 if kind == "images" and stage < ranks // 2 else 0
        stages.append({"replicas": [{"rank": stage}], "costs": {
            "F": {"ns": {"fixed": 20000, "per_size": [60, 10, image]}, "takes_bytes": {"per_size": [4096, 0, 0]}},
            "I": {"ns": {"fixed": 20000, "per_size": [60, 20, image]}},
            "W": {"ns": {"fixed": 20000, "per_size": [60, 0, image]}, "frees_bytes": "rest"}}})
    return {"format": "rondo-problem/2", "name": name, "microbatches": count, "sizes": sizes,
            "ranks": [{"memory_bytes": 4096 * cap}] * ranks, "stages": stages,
            "edges": [{"from": s, "to": s + 1, "bytes": {"per_size": [4096, 0, 0]}} for s in range(ranks - 1)],
            "link": {"latency_ns": 5000, "bytes_per_us": 50000}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo")
    parser.add_argument("--effort", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3, help="problems of each kind and number of ranks")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "p.jsonl"
        for ranks in (4, 8, 16):
            for kind in KINDS:
                for number in range(options.count):
                    path.write_text(json.dumps(problem(rng, f"{kind}-{ranks}-{number}", kind, ranks)) + "\n")
                    found = {}
                    for family in FAMILIES:
                        run = subprocess.run([options.rondo, "simulate", path, "--family", family, "--json"],
                                             capture_output=True, text=True, check=False)
                        line = json.loads(run.stdout.splitlines()[0]) if run.stdout else {}
                        found[family] = line.get("makespan_ns")
                    run = subprocess.run([options.rondo, "search", path, "--effort", str(options.effort)],
                                         capture_output=True, text=True, check=True)
                    line = json.loads(run.stdout)
                    row = rows[f"{kind}, {ranks} ranks"]
                    for family, value in found.items():
                        if value and found["1f1b"]:
                            row[family].append(value / found["1f1b"])
                    row["search"].append(line["makespan_ns"] / found["1f1b"])
                    row["bound"].append(line["lower_bound_ns"] / line["makespan_ns"])
                    row["seconds"].append(line["search"]["seconds"])
                    row["iteration"].append(line["makespan_ns"] / 1e9)
    columns = FAMILIES[1:] + ("search", "bound", "seconds", "iteration")
    print("| problems | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name, row in rows.items():
        means = (f"{sum(row[c]) / len(row[c]):.3f}" if row[c] else "-" for c in columns)
        print(f"| {name} | " + " | ".join(means) + " |")


if __name__ == "__main__":
    main()
