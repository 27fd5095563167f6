#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures whether iterations that overlap leave a bubble: throughput.py RONDO [TASK_MS [ITERATIONS]].

Layers only take time: F, I and W take TASK_MS each (default 5) on each of 2 or 4
stages, and an iteration has four micro-batches, so that each rank works 12 TASK_MS
in it. "settled" is the mean of ITERATIONS iterations (default 200) behind the first
10 and before the last, which includes the drain; "run" has all of them. Both are in
ms an iteration, beside the predicted time and above the work of the busiest rank.
"""

import json
import pathlib
import statistics
import sys
import tempfile

import programs

RONDO = pathlib.Path(sys.argv[1]).resolve()
TASK_MS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
MICROBATCHES, FIRST = 4, 10
NAMES = ("1f1b", "zb-h1", "pipedream", "2bw", "newest", "pipemare", "timeprest")


def plan(stages):
    ns = TASK_MS * 1000000
    layer = f"forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 65536, output_bytes = 65536, weight_bytes = 65536"
    lines = ["pipe.cluster @machine {"] + [f"  pipe.device @rank{r}" for r in range(stages)] + ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{r} synthetic<{layer}>" for r in range(stages)]
    lines += ["}", f"pipe.plan @step of @timed on @machine microbatches({MICROBATCHES}) {{"]
    lines += [f"  pipe.stage @s{r} [@l{r}] on {r}" for r in range(stages)] + ["}"]
    lines += programs.schedules(NAMES, "step")
    return "\n".join(lines) + "\n"


def main():
    work = 3 * MICROBATCHES * TASK_MS
    print(f"ms an iteration of {MICROBATCHES} micro-batches, {ITERATIONS} iterations; each rank works {work} ms")
    print(f"stages  {'method':10} {'predicted':>9} {'settled':>9} {'above work':>10} {'run':>9} {'above work':>10}")
    for stages in (2, 4):
        with tempfile.TemporaryDirectory() as name:
            source, log = (pathlib.Path(name, part) for part in ("timed.mlir", "log"))
            source.write_text(plan(stages))
            for method in NAMES:
                program = pathlib.Path(name, method)
                programs.compiled(RONDO, source, (method,), program)
                count = FIRST + ITERATIONS + 1
                programs.command(program, "--iterations", count, "--drain-every", count, "--json-log", log, "--quiet")
                times = [json.loads(line)["ns"] / 1e6 for line in log.read_text().splitlines()]
                settled, run = statistics.fmean(times[FIRST:-1]), statistics.fmean(times)
                predicted = programs.emitted(RONDO, source, method)[0] / 1e6
                print(f"{stages:6}  {method:10} {predicted:9.2f} {settled:9.2f} {100 * (settled / work - 1):8.2f} % "
                      f"{run:9.2f} {100 * (run / work - 1):8.2f} %", flush=True)


if __name__ == "__main__":
    main()
