#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of published schedules with copies to the host, against what is published for copies.

    peaks.py RONDO [--time-limit-ms N] [--ranks N] [--microbatches N]

For 1F1B, interleaved 1F1B and V-half, and for copies both ways that take k times the work of a micro-batch: the least
cap under which the search reaches the makespan of the family, without and with copies, and the makespan with copies
under half of the family's memory. PipeOffload (arXiv 2503.01328) states that all activations can leave for k <= 1 and
half for k <= 2. Memory is in activations A of a micro-batch of all stages of a rank, time in its work T.
"""
import argparse
import json
import subprocess
import tempfile

FORWARD, INPUT_GRAD, WEIGHT_GRAD = 4000, 4000, 4000
WORK = FORWARD + INPUT_GRAD + WEIGHT_GRAD
UNIT = 8  # bytes of a micro-batch of all stages of a rank


def problem(placement, ranks, microbatches, k):
    chunks = 1 if placement == "linear" else 2
    stages = []
    for stage in range(chunks * ranks):
        wave, rank = divmod(stage, ranks)
        if placement == "v" and wave:
            rank = ranks - 1 - rank
        held, copy = UNIT // chunks, int(k * WORK / 2 / chunks)
        costs = {"F": {"ns": FORWARD // chunks, "takes_bytes": held},
                 "I": {"ns": INPUT_GRAD // chunks}, "W": {"ns": WEIGHT_GRAD // chunks, "frees_bytes": held}}
        if k > 0:
            costs["SAVE"], costs["LOAD"] = {"ns": copy, "frees_bytes": held}, {"ns": copy, "takes_bytes": held}
        stages.append({"replicas": [{"rank": rank}], "costs": costs})
    return {"format": "rondo-problem/2", "name": f"{placement}-{k}", "microbatches": microbatches,
            "ranks": [{"memory_bytes": None} for _ in range(ranks)], "stages": stages,
            "edges": [{"from": s, "to": s + 1, "bytes": 0} for s in range(chunks * ranks - 1)],
            "link": {"latency_ns": 0, "bytes_per_us": None}}


def search(rondo, given, cap, limit):
    """The makespan under a cap; None if no order fits."""
    for rank in given["ranks"]:
        rank["memory_bytes"] = cap
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(json.dumps(given) + "\n")
        file.flush()
        run = subprocess.run([rondo, "search", "--problems", file.name, "--output", "-", "--time-limit-ms", str(limit)],
                             capture_output=True, text=True, check=False)
    line = json.loads(run.stdout.splitlines()[0])
    return line.get("makespan_ns")


def least_cap(rondo, given, target, most, limit):
    """The least cap, in bytes, at which the makespan is within 0.1 % of the target."""
    best = most
    for cap in range(most - UNIT // 2, 0, -UNIT // 2):
        found = search(rondo, given, cap, limit)
        if found is None or found > 1.001 * target:
            break
        best = cap
    return best


def base_of(rondo, given, family):
    """Makespan and peak of a family."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(json.dumps(given) + "\n")
        file.flush()
        run = subprocess.run([rondo, "compare", file.name, "--family", family, "--effort", "1", "--json"],
                             capture_output=True, text=True, check=False)
    for line in map(json.loads, run.stdout.splitlines()):
        if line.get("family") == family:
            return line["makespan_ns"], max(line["peak_memory_bytes"])
    raise SystemExit(f"no schedule of {family}: {run.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rondo")
    parser.add_argument("--time-limit-ms", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--microbatches", type=int, default=12)
    arguments = parser.parse_args()
    rondo, ranks, limit = arguments.rondo, arguments.ranks, arguments.time_limit_ms
    print("| family | makespan | peak | k | least memory without copies | with copies | makespan under half the peak, "
          "without copies | with copies |\n|---|---|---|---|---|---|---|---|")
    for placement, family in (("linear", "1f1b"), ("interleaved", "interleaved-1f1b"), ("v", "v-half")):
        plain = problem(placement, ranks, arguments.microbatches, 0)
        target, peak = base_of(rondo, plain, family)
        without = least_cap(rondo, plain, target, peak, limit)
        half = search(rondo, plain, peak // 2, limit)
        for k in (0.5, 1, 1.5, 2, 3):
            given = problem(placement, ranks, arguments.microbatches, k)
            needed = least_cap(rondo, given, target, without, limit)
            at_half = search(rondo, given, peak // 2, limit)
            print(f"| {family} | {target / WORK:.2f} T | {peak / UNIT:.1f} A | {k} | {without / UNIT:.1f} A | "
                  f"{needed / UNIT:.1f} A | {half / WORK:.2f} T | {at_half / WORK:.2f} T |", flush=True)


if __name__ == "__main__":
    main()
