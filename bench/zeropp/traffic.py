#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traffic of sharded state, predicted and counted in programs that run:
traffic.py RONDO [V U].

GPTs of a block in each stage, three places of the pipeline with one or two groups of
two ranks each (`shards = 2`), V stages a rank, in units of U micro-batches. A program
runs an iteration with --trace; what each rank gathers, reduces and adds across groups
is counted there, times its bytes, of which the wire carries (g - 1) / g, and of sums
across r groups 2 (r - 1) / r. Beside the rank that moves most stands what `rondo
simulate` says. The ranks in the middle have blocks alone: of these the payload is
shown in elements of h^2 a block and micro-batch, beside the paper's 36 / U and its
refinement 12 (3 V - 1) / (V U), in which the last chunk stays gathered from F to I.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
ALL = len(sys.argv) == 2
HIDDEN, MICROBATCHES, PLACES, SHARDS = 64, 12, 3, 2
# Number of chunks that are whole at once: one, by the rule of units, or the
# default.
RULES = {"one": "weights = 1, gradients = 1", "unit": "rule = unit", "default": None}
FLOAT = 4  # bytes


def source(chunks, unit, across, rule):
    """`across`: how many groups have each stage."""
    count, ranks = PLACES * chunks, PLACES * SHARDS * across
    lines = plans.blocks(count, ranks, HIDDEN, SHARDS * across, MICROBATCHES)
    for i, names in enumerate(plans.layers_of(count)):
        first = i % PLACES * SHARDS * across
        on = ", ".join(str(first + k) for k in range(SHARDS * across))
        lines.append(f"  pipe.stage @s{i} [{names}] on [{on}] sharded<weights, shards = {SHARDS}>")
    return "\n".join(lines + ["}", f'pipe.schedule @units of @step family<"blockwise", u = {unit}>' + (f" gathers<{RULES[rule]}>" if RULES[rule] else "")]) + "\n"


def counted(folder, path):
    """The bytes that leave the rank that moves most; and of a rank in the middle its gathers, reductions and the elements of h^2 a block and micro-batch."""
    text = plans.command(RONDO, "compile", path, "--emit", "lowered")
    sizes, replicas = {}, {}
    for name, on, buffers in re.findall(r"pipe\.stage @(s\d+) \[[^\]]*\] on \[([^\]]*)\].*? buffers\[<([^>]*)>", text):
        sizes[int(name[1:])] = {key: int(n) for key, n in re.findall(r"(\w+) = (\d+)", buffers)}
        replicas[int(name[1:])] = len(on.split(","))
    added = {}
    for number, stages in re.findall(r"pipe\.collective @c(\d+) replica_gradients \[(@s\d+)", text):
        added[int(number)] = int(stages[2:])
    program = pathlib.Path(folder, "train")
    plans.command(RONDO, "compile", path, "-o", program)
    data, trace = pathlib.Path(folder, "text"), pathlib.Path(folder, "trace.json")
    data.write_bytes(bytes(range(32, 127)) * 100)
    subprocess.run([program, "--data", data, "--iterations", "1", "--trace", trace, "--quiet"], check=True, capture_output=True)
    bytes_of, moves = collections.Counter(), collections.Counter()
    for event in json.loads(trace.read_text())["traceEvents"]:
        about, rank = event.get("args", {}), event.get("pid")
        if event.get("cat") != "collective" or event.get("ph") != "X" or about.get("iteration") != 1:
            continue
        if (kind := event["name"].split(" ")[0]) in ("unshard", "reduce_grad"):
            stage = about["stage"]
            whole = sizes[stage]["gathered_weights" if kind == "unshard" else "unreduced_gradients"]
            bytes_of[rank] += whole // SHARDS * (SHARDS - 1)
            moves[rank, kind, stage] += 1
        elif kind == "all_reduce" and about["collective"] in added:
            stage = added[about["collective"]]
            groups = replicas[stage] // SHARDS
            bytes_of[rank] += 2 * (sizes[stage]["gradients"] // groups) * (groups - 1)
    middle = [stage for stage in sizes if stage % PLACES == 1]
    rank = min(r for r, _, stage in moves if stage == 1)
    gathers, reductions = (sum(moves[rank, kind, stage] for stage in middle) for kind in ("unshard", "reduce_grad"))
    elements = (gathers * sizes[1]["gathered_weights"] + reductions * sizes[1]["unreduced_gradients"]) / FLOAT
    return max(bytes_of.values()), gathers, reductions, elements / HIDDEN**2 / MICROBATCHES / len(middle)


def kibibytes(text):
    number, unit = text.split()
    return float(number) * {"B": 1 / 1024, "KiB": 1, "MiB": 1024}[unit]


def main():
    print(f"h = {HIDDEN}, M = {MICROBATCHES}, an iteration; bytes leave the rank that moves most")
    print("groups  V   U  rule     predicted KiB  counted KiB  gathers  reductions  block   36/U  refined")
    with tempfile.TemporaryDirectory() as folder:
        for across in (1, 2):
            for chunks in (1, 2) if ALL else (int(sys.argv[2]),):
                for unit in (3, MICROBATCHES) if ALL else (int(sys.argv[3]),):
                    for rule in RULES:
                        path = pathlib.Path(folder, "units.mlir")
                        path.write_text(source(chunks, unit, across, rule))
                        row = next(line for line in plans.command(RONDO, "simulate", path).splitlines() if line.strip().startswith("@units"))
                        predicted = kibibytes(re.split(r"\s{2,}", row.strip())[-1])
                        size, gathers, reductions, block = counted(folder, path)
                        print(f"{across:6} {chunks:2} {unit:3}  {rule:7}  {predicted:13.2f}  {size / 1024:11.2f}  {gathers:7} {reductions:11}"
                              f" {block:6.2f} {36 / unit:6.2f} {12 * (3 * chunks - 1) / chunks / unit:8.2f}", flush=True)


if __name__ == "__main__":
    main()
