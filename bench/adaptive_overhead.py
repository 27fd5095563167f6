#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what measuring and estimating cost the iterations: adaptive_overhead.py RONDO [ROUNDS].

A program with kfkb of 16 groups runs its first schedule, k = 1: alone, and as one of 16 between
which it may change, with a decision every 5 iterations, as is usual, and after every iteration. No
other schedule can be faster by 99 %, so none ever runs, and the difference is what it costs to
measure the iterations and to estimate 16 schedules in a thread beside them. Runs alternate, ROUNDS
(default 5) of each; a figure is the median of all their iterations but the first five of each.

timed   8 ranks, 32 micro-batches, layers that only take time, 1 ms for each of F, I and W: cores are
        free for the thread
GPT     2 ranks on all that the machine has, 32 micro-batches of real work: the thread takes a part
        of a core
"""

import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

from commands import command

RONDO = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
MICROBATCHES, CANDIDATES, SETTLING = 32, 16, 5


def schedules():
    return [f'pipe.schedule @k{k} of @step family<"kfkb", k = {k}>' for k in range(1, CANDIDATES + 1)]


def timed(ranks):
    lines = ["pipe.cluster @lab link<latency_ns = 10000, bytes_per_us = 10000> {"]
    lines += [f"  pipe.device @d{r}" for r in range(ranks)]
    lines += ["}", "pipe.model @m {"]
    lines += [f"  pipe.layer @l{r} synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000,"
              " activation_bytes = 1000, output_bytes = 1000>" for r in range(ranks)]
    lines += ["}", f"pipe.plan @step of @m on @lab microbatches({MICROBATCHES}) {{"]
    lines += [f"  pipe.stage @s{r} [@l{r}] on {r}" for r in range(ranks)]
    return "\n".join(lines + ["}"] + schedules()) + "\n"


def gpt():
    lines = ["pipe.cluster @lab link<latency_ns = 10000, bytes_per_us = 10000> {", "  pipe.device @d0 <flops_per_us = 20000>",
             "  pipe.device @d1 <flops_per_us = 20000>", "}",
             "pipe.model @m gpt<vocab = 256, sequence = 64, hidden = 64, heads = 4, ffn = 256, batch = 1, tied = false> {",
             "  pipe.layer @wte embedding", "  pipe.layer @h0 block", "  pipe.layer @h1 block", "  pipe.layer @ln_f head",
             "}", f"pipe.plan @step of @m on @lab microbatches({MICROBATCHES}) {{",
             "  pipe.stage @s0 [@wte, @h0] on 0", "  pipe.stage @s1 [@h1, @ln_f] on 1", "}"]
    return "\n".join(lines + schedules()) + "\n"


def iterations_of(program, folder, count, *flags):
    """ns of each iteration but the first ones, and how many estimates there were."""
    log = folder / "log"
    command(program, "--iterations", count, "--quiet", "--json-log", log, *flags)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    if any("switch" in line for line in lines):
        raise SystemExit("the schedule changed")
    return [line["ns"] for line in lines if "ns" in line][SETTLING:], sum("estimates" in line for line in lines)


def measure(label, text, count, folder, *data):
    source, program = folder / "plan.mlir", folder / "train"
    source.write_text(text)
    names = [f"k{k}" for k in range(1, CANDIDATES + 1)]
    command(RONDO, "compile", source, "--schedule", ",".join(names), "-o", program)
    flags = {"alone": ("--schedule", "k1", *data)}
    for every in (5, 1):
        flags[f"every {every}"] = ("--schedule", ",".join(names), "--adapt", "on", "--adapt-gain", "99", "--adapt-every", every, *data)
    times, estimates = {name: [] for name in flags}, dict.fromkeys(flags, 0)
    for _ in range(ROUNDS):
        for name, own in flags.items():
            ns, number = iterations_of(program, folder, count, *own)
            times[name] += ns
            estimates[name] += number
    alone = statistics.median(times["alone"])
    for name, ns in times.items():
        median = statistics.median(ns)
        quarters = statistics.quantiles(ns)
        print(f"{label:6} {name:8} {median / 1e6:9.3f} {quarters[0] / 1e6:9.3f} {quarters[2] / 1e6:9.3f} {100 * (median / alone - 1):+8.2f}"
              f" {len(ns):6} {estimates[name]:9}", flush=True)


def main():
    print(f"{CANDIDATES} schedules, {ROUNDS} rounds; load at the start {os.getloadavg()[0]:.1f}")
    print(f"{'model':6} {'decides':8} {'ms':>9} {'quarter':>9} {'three':>9} {'more, %':>8} {'of':>6} {'estimates':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measure("timed", timed(8), 30, folder)
        tokens = folder / "tokens"
        tokens.write_bytes(random.Random(0).randbytes(1 << 16))
        measure("GPT", gpt(), 100, folder, "--data", tokens)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


main()
