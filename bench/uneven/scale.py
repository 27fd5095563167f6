#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulate orders of micro-batches that differ, at the scale of real iterations.

    bench/uneven/scale.py RONDO [--effort N] [--seed N] [--count N] [--ranks LIST] [--per-rank LIST]

A stage is two blocks of a Llama with 8192 hidden units on one GPU at 400 TFLOP/s
(attention 200): 1.7 billion parameters. A micro-batch is a document of 4096
tokens in the mean. Lengths are lognormal with sigma 0.4, 0.7 and 1.0; equal but
for one of 2.5 to 6 times; or have images on the first half of the stages. A rank
holds 1F1B's bytes for mean micro-batches, or one and a half times the largest
one. Times are relative to 1F1B in the given order; `dynapipe` is a
reconstruction of its clusters and its cyclic schedule. Prints mean ratios and
processor seconds of the search, as a part of the iteration.
"""
import argparse
import collections
import itertools
import json
import pathlib
import random
import resource
import subprocess
import tempfile

KINDS = ("sigma 0.4", "sigma 0.7", "sigma 1.0", "outlier", "images")
FAMILIES = ("1f1b", "1f1b:order=ascending", "1f1b:order=descending", "zb-h1:order=best")
MEAN = 4096


def problem(rng, name, kind, ranks, count):
    sigma = float(kind.split()[1]) if kind.startswith("sigma") else 0.2
    tokens = [max(64, round(MEAN * rng.lognormvariate(-sigma * sigma / 2, sigma))) for _ in range(count)]
    if kind == "outlier":
        tokens = [MEAN] * count
        tokens[rng.randrange(count)] = round(MEAN * rng.uniform(2.5, 6))
    images = [rng.choice((0, 0, 2048, 8192)) if kind == "images" else 0 for _ in tokens]
    sizes = [[t, t * t, i] for t, i in zip(tokens, images)]
    bytes_per_token = 2 * 34 * 8192
    cap = bytes_per_token * max(ranks * sum(tokens) // count, 3 * max(tokens) // 2)
    stages = []
    for stage in range(ranks):
        image = 8600 if kind == "images" and stage < ranks // 2 else 0
        held = bytes_per_token if image else 0
        stages.append({"replicas": [{"rank": stage}], "costs": {
            # ns per token, per 100 squared tokens and per image patch.
            "F": {"ns": {"fixed": 50000, "per_size": [860000, 16, 100 * image], "over": 100},
                  "takes_bytes": {"per_size": [bytes_per_token, 0, held // 8]}},
            "I": {"ns": {"fixed": 50000, "per_size": [860000, 32, 100 * image], "over": 100}},
            "W": {"ns": {"fixed": 50000, "per_size": [860000, 0, 100 * image], "over": 100},
                  "frees_bytes": "rest"}}})
    return {"format": "rondo-problem/2", "name": name, "microbatches": count, "sizes": sizes,
            "ranks": [{"memory_bytes": cap}] * ranks, "stages": stages,
            "edges": [{"from": s, "to": s + 1, "bytes": {"per_size": [2 * 8192, 0, 0]}} for s in range(ranks - 1)],
            "link": {"latency_ns": 10000, "bytes_per_us": 50000}}


def cost(affine, size):
    affine = affine if "per_size" in affine else {"per_size": [0] * len(size)}
    return affine.get("fixed", 0) - -sum(a * b for a, b in zip(affine["per_size"], size)) // affine.get("over", 1)


class DynaPipe:
    """DynaPipe (Jiang et al., EuroSys 2024): micro-batches in clusters by their
    times on the first and the last stage, all permutations of the clusters with a
    random order inside, and the given order. Each is scheduled in cycles: in each,
    a stage runs the first backward and the first forward that arrived, the forward
    only if it has room for it. Backwards are whole.
    """

    def __init__(self, given):
        self.ranks, self.count = len(given["stages"]), given["microbatches"]
        self.cap = given["ranks"][0]["memory_bytes"]
        costs = [stage["costs"] for stage in given["stages"]]
        self.bytes = [[cost(c["F"]["takes_bytes"], size) for size in given["sizes"]] for c in costs]
        self.times = [[sum(cost(c[kind]["ns"], size) for kind in "FIW") for size in given["sizes"]] for c in costs]

    def clusters(self, count):
        """k-means of (time of the first stage, time of the last stage)."""
        points = list(zip(self.times[0], self.times[-1]))
        ordered = sorted(points)
        centres = [ordered[(2 * k + 1) * len(points) // (2 * count)] for k in range(count)]
        for _ in range(20):
            groups = [[] for _ in centres]
            for i, (x, y) in enumerate(points):
                nearest = min(range(len(centres)),
                              key=lambda k: (x - centres[k][0]) ** 2 + (y - centres[k][1]) ** 2)
                groups[nearest].append(i)
            centres = [tuple(sum(points[i][axis] for i in group) / len(group) for axis in (0, 1)) if group else centre
                       for group, centre in zip(groups, centres)]
        return [group for group in groups if group]

    def orders(self, rng):
        yield list(range(self.count))
        groups = self.clusters(3 if self.count > 20 else 4)
        for group in groups:
            rng.shuffle(group)
        for permutation in itertools.permutations(groups):
            yield [i for group in permutation for i in group]

    def lists(self, order):
        """None if no stage can go on."""
        forwards = [collections.deque(order if s == 0 else ()) for s in range(self.ranks)]
        backwards = [collections.deque() for _ in range(self.ranks)]
        held = [0] * self.ranks
        ranks = [[] for _ in range(self.ranks)]
        left = 2 * self.ranks * self.count
        while left:
            arrived = []
            for s in range(self.ranks):
                if backwards[s]:
                    i = backwards[s].popleft()
                    ranks[s].append(f"{s}B{i}")
                    held[s] -= self.bytes[s][i]
                    if s > 0:
                        arrived.append((backwards[s - 1], i))
                if forwards[s] and held[s] + self.bytes[s][forwards[s][0]] <= self.cap:
                    i = forwards[s].popleft()
                    ranks[s].append(f"{s}F{i}")
                    held[s] += self.bytes[s][i]
                    arrived.append((forwards[s + 1] if s + 1 < self.ranks else backwards[s], i))
            before = left
            left = 2 * self.ranks * self.count - sum(map(len, ranks))
            if left == before:
                return None
            for queue, i in arrived:
                queue.append(i)
        return ranks


def rondo(options, *words):
    return subprocess.run([options.rondo, *map(str, words)], capture_output=True, text=True, check=False).stdout


def dynapipe(options, rng, path, given):
    best = None
    planner = DynaPipe(given)
    schedule = path.with_name("s.json")
    for order in planner.orders(rng):
        lists = planner.lists(order)
        if lists is None:
            continue
        schedule.write_text(json.dumps({"format": "rondo-schedule/2", "problem": given["name"], "ranks": lists}))
        written = rondo(options, "export", "rondo-schedule", schedule, "--problem", path)
        if written:
            ns = json.loads(written)["makespan_ns"]
            best = ns if best is None else min(best, ns)
    return best


def measure(options, rng, path, kind, ranks, count, number):
    given = problem(rng, f"{kind}-{ranks}-{number}", kind, ranks, count)
    path.write_text(json.dumps(given) + "\n")
    found = {}
    for family in FAMILIES:
        line = rondo(options, "simulate", path, "--family", family, "--json").splitlines()
        found[family] = json.loads(line[0]).get("makespan_ns") if line else None
    found["dynapipe"] = dynapipe(options, rng, path, given)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    line = json.loads(rondo(options, "search", path, "--effort", options.effort))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    found["search"] = line["makespan_ns"]
    return found, {"bound": line["lower_bound_ns"] / line["makespan_ns"], "seconds": seconds,
                   "iteration": line["makespan_ns"] / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo")
    parser.add_argument("--effort", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3, help="problems a row")
    parser.add_argument("--ranks", default="4,8,16")
    parser.add_argument("--per-rank", default="2,4", help="micro-batches per rank")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    columns = ("1f1b:order=ascending", "1f1b:order=descending", "dynapipe", "zb-h1:order=best", "search", "bound",
               "seconds", "iteration")
    print("| problems | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "p.jsonl"
        for ranks, each in itertools.product(map(int, options.ranks.split(",")), map(int, options.per_rank.split(","))):
            for kind in KINDS:
                row = collections.defaultdict(list)
                for number in range(options.count):
                    found, figures = measure(options, rng, path, kind, ranks, each * ranks, number)
                    for family, ns in found.items():
                        if ns and found["1f1b"]:
                            row[family].append(ns / found["1f1b"])
                    for figure, value in figures.items():
                        row[figure].append(value)
                means = (f"{sum(row[c]) / len(row[c]):.3f}" if row[c] else "-" for c in columns)
                print(f"| {kind}, {ranks} ranks, {each * ranks} micro-batches | " + " | ".join(means) + " |",
                      flush=True)


if __name__ == "__main__":
    main()
