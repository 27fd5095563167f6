#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures schedules as programs: measured.py RONDO [FORWARD_MS [ITERATIONS]].

Layers only take time, ranks are threads, and links have the imposed bandwidth.
F, I and W take FORWARD_MS each (default 40); a figure is the median of
ITERATIONS (default 5) iterations, in forwards, beside the simulated one.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from problems import row

RONDO = pathlib.Path(sys.argv[1]).resolve()
FORWARD_MS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 5


def source(ranks, stages, microbatches, forwards, message, schedules):
    """A plan with stage s on rank s mod `ranks`; each task takes `forwards`, a message `message` forwards of its link."""
    ns = round(forwards * FORWARD_MS * 1000000)
    output = round(message * FORWARD_MS * 1000)  # at 1 byte/us
    layer = f"forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 64, output_bytes = {output}"
    lines = ["pipe.cluster @cluster link<bytes_per_us = 1> {"] if message else ["pipe.cluster @cluster {"]
    lines += [f"  pipe.device @d{r}" for r in range(ranks)] + ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<{layer}>" for s in range(stages)]
    lines += ["}", f"pipe.plan @step of @timed on @cluster microbatches({microbatches}) {{"]
    lines += [f"  pipe.stage @s{s} [@l{s}] on {s % ranks}" for s in range(stages)] + ["}"]
    lines += [f"pipe.schedule @{name} of @step {text}" for name, text in schedules.items()]
    return "\n".join(lines) + "\n"


def command(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def measure(ranks, stages, microbatches, forwards, message, schedules):
    """By name of a schedule: the time of an iteration as measured and as simulated, in forwards."""
    with tempfile.TemporaryDirectory() as folder:
        text, program, log = (pathlib.Path(folder, name) for name in ("step.mlir", "train", "log"))
        text.write_text(source(ranks, stages, microbatches, forwards, message, schedules))
        command(RONDO, "compile", text, "--schedule", ",".join(schedules), "-o", program)
        link = ["--link", "0:1"] if message else []
        turns = ",".join(f"{name}:1" for name in schedules)
        command(program, *link, "--schedule", turns, "--iterations", ITERATIONS * len(schedules), "--json-log", log)
        times = {name: [] for name in schedules}
        for iteration in map(json.loads, log.read_text().splitlines()):
            times[iteration.get("schedule", next(iter(schedules)))].append(iteration["ns"])
        lines = command(RONDO, "simulate", text, "--json").splitlines()
        simulated = [json.loads(line)["makespan_ns"] for line in lines]
    unit = FORWARD_MS * 1000000
    return {name: (statistics.median(times[name]) / unit, ns / unit) for name, ns in zip(schedules, simulated)}


def show(label, figures):
    first = next(iter(figures.values()))
    for name, (measured, simulated) in figures.items():
        row(label, name.replace("one_f_one_b", "1f1b"), f"{measured:.2f}", f"{simulated:g}",
            f"{first[0] / measured:.3f}x", f"{first[1] / simulated:.3f}x")


print(f"iteration time in forwards of {FORWARD_MS} ms, and speed-up over the first of a group")
row("", "", "measured", "computed", "measured", "computed")
for c in (0.1, 0.5, 1):
    show(f"c = {c:g}", measure(4, 4, 16, 1, c, {"one_f_one_b": 'family<"1f1b">', "k2": 'family<"kfkb", k = 2>'}))
for microbatches in (4, 16):
    figures = measure(4, 4, microbatches, 2, 0, {"one_f_one_b": 'family<"1f1b">'})
    figures |= measure(4, 8, microbatches, 1, 0, {
        "breadth": 'family<"looped-bfs"> accumulate(schedule_order)', "zeropp": 'family<"blockwise", u = 4>'})
    show(f"4, 2, {microbatches}", figures)
