#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures a program that changes the size of its micro-batches: adaptive_sizes.py RONDO [PHASE].

A small GPT on two ranks. Each task has a part that does not depend on the samples, so larger
micro-batches pay where messages are quick, and smaller ones where they are slow. An iteration
has 64 samples. Costs are measured for micro-batches of 1, 2, 4, 8 and 16 samples (`--profile`) and
given to `rondo candidates`. Then links change, in four phases of PHASE iterations (default 200):
quick, slow, quick, slow. Times are those of all iterations, without the first 10 of the run.

For the adaptive program, and for each of its schedules alone: milliseconds of an iteration in quick
and in slow phases, medians, and the seconds of all iterations. "hindsight" takes of each phase the
fastest schedule.
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
PHASE = int(sys.argv[2]) if len(sys.argv) > 2 else 200
SAMPLES, WRITTEN, SIZES, SKIPPED, PHASES = 64, 4, (1, 2, 4, 8, 16), 10, 4
# A message of one sample has 8 x 32 floats, 1024 bytes.
LATENCY, FAST, SLOW = 10, 10000, 18


def plan(samples):
    lines = [f"pipe.cluster @lab link<latency_ns = {1000 * LATENCY}, bytes_per_us = {FAST}> {{",
             "  pipe.device @d0 <memory_bytes = 60000000>", "  pipe.device @d1 <memory_bytes = 60000000>", "}",
             f"pipe.model @m gpt<vocab = 64, sequence = 8, hidden = 32, heads = 2, ffn = 128, batch = {WRITTEN}, tied = false> {{",
             "  pipe.layer @wte embedding", *(f"  pipe.layer @h{n} block" for n in range(6)), "  pipe.layer @ln_f head", "}",
             f"pipe.plan @step of @m on @lab microbatches({SAMPLES // samples}) samples({samples}) {{",
             "  pipe.stage @s0 [@wte, @h0, @h1, @h2] on 0", "  pipe.stage @s1 [@h3, @h4, @h5, @ln_f] on 1", "}",
             'pipe.schedule @main of @step family<"1f1b">']
    return "\n".join(lines) + "\n"


def measure_costs(folder):
    """Files of costs, by size."""
    files = []
    for samples in SIZES:
        source, program, costs = folder / f"b{samples}.mlir", folder / f"b{samples}", folder / f"costs-{samples}.json"
        source.write_text(plan(samples))
        command(RONDO, "compile", source, "-o", program)
        command(program, "--profile", costs, "--iterations", 30, "--quiet")
        stages = json.loads(costs.read_text())["stages"]
        work = [sum(stage[f"{kind}_ns"] for kind in ("forward", "input_grad", "weight_grad")) for stage in stages]
        print(f"{samples} samples: {' and '.join(f'{ns / 1e3 / samples:.1f}' for ns in work)} us a sample")
        files.append(costs)
    return files


def run(program, folder, *flags):
    """ns of each iteration, and (iteration, schedule) of each change."""
    log = folder / "log"
    command(program, "--data", folder / "tokens", "--iterations", PHASES * PHASE, "--link-trace", folder / "trace.csv", "--quiet", "--json-log", log, *flags)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["ns"] for line in lines if "ns" in line], [(line["iteration"], line["switch"]["to"]) for line in lines if "switch" in line]


def parts_of(times):
    """The iterations of each phase; a run's first ones are slower."""
    return [times[max(SKIPPED, phase * PHASE):(phase + 1) * PHASE] for phase in range(PHASES)]


def row(name, times):
    parts = parts_of(times)
    quick, slow = (statistics.median(sum(parts[first::2], [])) / 1e6 for first in (0, 1))
    return f"{name:>16} {quick:8.2f} {slow:8.2f} {sum(map(sum, parts)) / 1e9:8.3f}"


def main():
    print(f"load at the start {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tokens").write_bytes(bytes(random.Random(1).choices(range(64), k=1 << 16)))
        options = [word for costs in measure_costs(folder) for word in ("--costs", costs)]
        print(command(RONDO, "candidates", folder / f"b{WRITTEN}.mlir", *options, "--effort", 1000, "-o", folder / "adaptive.mlir"), end="")
        program = folder / "adaptive"
        command(RONDO, "compile", folder / "adaptive.mlir", "-o", program)
        changes = [f"{1 + phase * PHASE},*,*,{LATENCY},{SLOW if phase % 2 else FAST}" for phase in range(PHASES)]
        (folder / "trace.csv").write_text("\n".join(["iteration,from,to,latency_us,bytes_per_us", *changes]) + "\n")
        shown = command(program, "--help")
        own = [line.split(":")[0].strip() for line in shown[shown.index("\nschedules:\n") + 12:].split("\n\n")[0].splitlines() if ":" in line]
        adaptive, switches = run(program, folder)
        alone = {schedule: run(program, folder, "--schedule", schedule)[0] for schedule in own}
        print("        schedule    quick     slow        s")
        for schedule, times in {"adaptive": adaptive, **alone}.items():
            print(row(schedule, times))
        hindsight = sum(min(sum(parts_of(times)[phase]) for times in alone.values()) for phase in range(PHASES))
        total = sum(map(sum, parts_of(adaptive)))
        best = min(sum(map(sum, parts_of(times))) for times in alone.values())
        print(f"changes: {', '.join(f'{to} after {iteration}' for iteration, to in switches) or 'none'}")
        print(f"compared with hindsight {100 * (total / hindsight - 1):+.1f} %, the best schedule alone {100 * (best / total - 1):+.1f} %, "
              f"@main {100 * (sum(map(sum, parts_of(alone['main']))) / total - 1):+.1f} %")
    print(f"load at the end {os.getloadavg()[0]:.1f}")


main()
