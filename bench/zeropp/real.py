#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures programs whose state is sharded: real.py RONDO [TASK_MS [ITERATIONS [RUNS]]].

Layers only take time: F, I and W of each chunk take TASK_MS (default 20) on each rank,
links have an imposed latency of 200 us, and a rate at which a gather takes half of
a task. Ranks are threads. "measured" is the median of ITERATIONS (default 10) of the
best of RUNS (default 3) runs, "median" that of all runs, both in ms an iteration,
next to the predicted time. Load: the load average of the last minute, before and after the
runs of a row.
"""

import os
import pathlib
import statistics
import sys
import tempfile

import plans
from iterations import measured_ns, predicted_ns

RONDO = pathlib.Path(sys.argv[1]).resolve()
TASK_MS, ITERATIONS, RUNS = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 20), (3, 10), (4, 3)))
LATENCY_US, RATE = 200, 100  # bytes/us
MICROBATCHES = 4
SCHEDULES = {
    "each": 'family<"1f1b"> gathers<weights = 0, gradients = 0>',
    "once": 'family<"1f1b"> gathers<weights = 1, gradients = 1>',
    "interleaved": 'family<"interleaved-1f1b">',
    "breadth": 'family<"looped-bfs"> accumulate(schedule_order)',
    "units": 'family<"blockwise", u = 2>',
    "zeropp": 'family<"blockwise", u = 4> gathers<weights = 1, gradients = 1>',
}
CASES = ((1, 1, ("each", "once")), (2, 1, ("each", "once")), (2, 2, ("interleaved", "breadth", "units", "zeropp")))


def source(groups, chunks, names):
    """Groups of two ranks, which take half of each task's samples."""
    ns = 2 * TASK_MS * 1000000
    weights = round(TASK_MS * 1000 * RATE)  # of which half passes a link
    layer = (f"forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 8192, output_bytes = 8192, weight_bytes = {weights // 64 * 64}")
    lines = [f"pipe.cluster @machine link<latency_ns = {1000 * LATENCY_US}, bytes_per_us = {RATE}> {{"]
    lines += [f"  pipe.device @d{r}" for r in range(2 * groups)] + ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<{layer}>" for s in range(groups * chunks)]
    lines += ["}", f"pipe.plan @step of @timed on @machine microbatches({MICROBATCHES}) samples(2) {{"]
    for s in range(groups * chunks):
        first = 2 * (s % groups)
        lines.append(f"  pipe.stage @s{s} [@l{s}] on [{first}, {first + 1}] sharded<weights>")
    lines += ["}"] + [f"pipe.schedule @{name} of @step {SCHEDULES[name]}" for name in names]
    return "\n".join(lines) + "\n"


def main():
    print(f"ms an iteration of {MICROBATCHES} micro-batches, tasks of {TASK_MS} ms, {ITERATIONS} iterations, best of {RUNS} runs")
    print("groups  chunks  schedule     predicted  measured  above    median  load")
    for groups, chunks, names in CASES:
        with tempfile.TemporaryDirectory() as folder:
            file, program, log = (pathlib.Path(folder, part) for part in ("timed.mlir", "train", "log"))
            file.write_text(source(groups, chunks, names))
            for name in names:
                predicted = predicted_ns(plans.command(RONDO, "compile", file, "--schedule", name, "--emit", "cpp")) / 1e6
                plans.command(RONDO, "compile", file, "--schedule", name, "--impose-links", "-o", program)
                load = os.getloadavg()[0]
                times = [statistics.median(measured_ns(program, log, ITERATIONS, "--link", f"{LATENCY_US}:{RATE}")) / 1e6 for _ in range(RUNS)]
                best, median = min(times), statistics.median(times)
                print(f"{groups:6}  {chunks:6}  {name:11} {predicted:10.1f} {best:9.1f} {100 * (best / predicted - 1):5.1f} % {median:9.1f}  "
                      f"{load:.1f} to {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
