#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory and time with copies to the host, against what is published for them.

    peaks.py RONDO [--time-limit-ms N] [--ranks N] [--microbatches N]

For one stage a rank, two interleaved stages and a V, and for copies both ways that take k times the work of a
micro-batch: the makespan without caps, the least cap at which the search reaches it without and with copies, and the
makespan with copies at half of that memory. PipeOffload (arXiv 2503.01328) states that all activations can leave for
k <= 1 and half for k <= 2. Memory is in activations of a micro-batch of all stages of a rank.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rondo")
    parser.add_argument("--time-limit-ms", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--microbatches", type=int, default=12)
    arguments = parser.parse_args()
    ranks, limit = arguments.ranks, arguments.time_limit_ms
    print("| placement | k | makespan without caps | least memory without copies | with copies | "
          "makespan at half of it, with copies | without |\n|---|---|---|---|---|---|---|")
    for placement in ("linear", "interleaved", "v"):
        plain = problem(placement, ranks, arguments.microbatches, 0)
        target = search(arguments.rondo, plain, None, limit)
        without = least_cap(arguments.rondo, plain, target, 2 * ranks * UNIT, limit)
        half = search(arguments.rondo, plain, without // 2, limit)
        for k in (0.5, 1, 1.5, 2, 3):
            given = problem(placement, ranks, arguments.microbatches, k)
            needed = least_cap(arguments.rondo, given, target, without, limit)
            at_half = search(arguments.rondo, given, without // 2, limit)
            print(f"| {placement} | {k} | {target / WORK:.2f} T | {without / UNIT:.1f} A | {needed / UNIT:.1f} A | "
                  f"{at_half / WORK:.2f} T | {half / WORK:.2f} T |", flush=True)


if __name__ == "__main__":
    main()
