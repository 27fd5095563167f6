#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures programs that change their schedule: adaptive.py RONDO [RANKS] [PHASE] [TRACE...].

RANKS (default 4) timed stages of 1 ms tasks, with 4 RANKS micro-batches and room for twice
1F1B's activations. A message of 100,000 bytes takes 0.01 ms, or 1 ms on a slow link. With the
trace "streams", which is not among the usual ones, it takes 0.1 ms, but in every other phase other
jobs send messages over all links, each of which takes 1 ms of every 1.25 ms. For each
trace of link_traces.py, with phases of PHASE iterations (default 100): the adaptive program, and
each of its schedules and of kfkb's that fit, alone. Times are those of all iterations, sleeping
included. "searching" is the adaptive program with --adapt search, "tuner" one that has only 1F1B
and kfkb, as Ada-Grouper's. "hindsight" takes of each
phase the fastest of the program's schedules. "after" lists, for each change of the links, how
many iterations later the program changed, if it did within the phase.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import link_traces
from commands import command

RONDO = pathlib.Path(sys.argv[1]).resolve()
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
PHASE = int(sys.argv[3]) if len(sys.argv) > 3 else 100
TRACES = sys.argv[4:] or link_traces.KINDS
FAST, SLOW, LATENCY = 10000, 100, 10
# For streams of other jobs.
SHARED, LEFT, MESSAGE = 1000, 200, 1000000


def plan():
    memory = 2 * RANKS * 1000000 + 1000000
    lines = [f"pipe.cluster @lab link<latency_ns = {1000 * LATENCY}, bytes_per_us = {FAST}> {{"]
    lines += [f"  pipe.device @d{r} <memory_bytes = {memory}>" for r in range(RANKS)]
    lines += ["}", "pipe.model @m {"]
    lines += [f"  pipe.layer @l{r} synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000,"
              " activation_bytes = 1000000, output_bytes = 100000>" for r in range(RANKS)]
    lines += ["}", f"pipe.plan @step of @m on @lab microbatches({4 * RANKS}) {{"]
    lines += [f"  pipe.stage @s{r} [@l{r}] on {r}" for r in range(RANKS)]
    lines += ["}", 'pipe.schedule @main of @step family<"1f1b">']
    lines += [f'pipe.schedule @k{k} of @step family<"kfkb", k = {k}>' for k in (2, 3, 4)]
    return "\n".join(lines) + "\n"


def iterations_of(program, trace, count, *flags):
    """ns of each iteration, and the iterations after which the schedule changed."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        command(program, "--iterations", count, "--link-trace", trace, "--quiet", "--json-log", log, *flags)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [l["ns"] for l in lines if "ns" in l], [(l["iteration"], l["switch"]["to"]) for l in lines if "switch" in l]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "plan.mlir"
        source.write_text(plan())
        command(RONDO, "candidates", source, "--effort", 2000, "-o", folder / "adaptive.mlir")
        command(RONDO, "compile", folder / "adaptive.mlir", "-o", folder / "adaptive")
        shown = command(folder / "adaptive", "--help")
        own = [line.split(":")[0].strip() for line in shown[shown.index("\nschedules:\n") + 12:].split("\n\n")[0].splitlines() if ":" in line]
        fixed = {}
        for k in (2, 3, 4):
            words = [RONDO, "compile", source, "--schedule", f"k{k}", "--impose-links", "-o", folder / f"k{k}"]
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                fixed[f"k{k}"] = folder / f"k{k}"
        grouped = ",".join(["main", *fixed])
        command(RONDO, "compile", source, "--schedule", grouped, "--impose-links", "-o", folder / "grouped")
        print(f"{RANKS} ranks, {4 * RANKS} micro-batches, phases of {PHASE} iterations; the program has {', '.join(own)}")
        print("seconds of all iterations")
        for kind in TRACES:
            count = (8 if kind in ("sawtooth", "preemption") else 4) * PHASE
            rates = (SHARED, LEFT) if kind == link_traces.STREAMS else (FAST, SLOW)
            changes = link_traces.phases(kind, count, PHASE, *rates, seed=1)
            trace = folder / "trace.csv"
            trace.write_text("\n".join(link_traces.rows(kind, changes, LATENCY, message=MESSAGE)) + "\n")
            times = {schedule: iterations_of(folder / "adaptive", trace, count, "--schedule", schedule)[0] for schedule in own}
            others = {schedule: iterations_of(program, trace, count)[0] for schedule, program in fixed.items()}
            adaptive, switches = iterations_of(folder / "adaptive", trace, count)
            starts = [first for first, _ in changes] + [count + 1]
            hindsight = sum(min(sum(t[a - 1:b - 1]) for t in times.values()) for a, b in zip(starts, starts[1:]))
            lags = [next((s - first + 1 for s, _ in switches if first <= s < after), None) for first, after in zip(starts[1:], starts[2:])]
            total = sum(adaptive)
            searching = sum(iterations_of(folder / "adaptive", trace, count, "--adapt", "search")[0])
            tuner = sum(iterations_of(folder / "grouped", trace, count, "--schedule", grouped, "--adapt", "on")[0])
            row = [f"adaptive {total / 1e9:.2f}", f"hindsight {hindsight / 1e9:.2f} (regret {100 * (total / hindsight - 1):+.1f} %)",
                   f"1f1b {sum(times['main']) / 1e9:.2f} (gain {100 * (sum(times['main']) / total - 1):+.1f} %)"]
            row += [f"tuner {tuner / 1e9:.2f} ({100 * (tuner / total - 1):+.1f} %)"]
            row += [f"searching {searching / 1e9:.2f} ({100 * (searching / hindsight - 1):+.1f} % to hindsight)"]
            row += [f"{k} {sum(t) / 1e9:.2f} ({100 * (sum(t) / total - 1):+.1f} %)" for k, t in others.items()]
            row += [f"{k} {sum(t) / 1e9:.2f}" for k, t in times.items() if k != "main"]
            print(f"{kind}: " + ", ".join(row) + f"; {len(switches)} changes, after {lags}", flush=True)


main()
