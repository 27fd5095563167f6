#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of programs that copy activations to imposed host links, against the prediction.

    prediction.py RONDO [--iterations N] [--runs N]

Four ranks are threads whose layers only take time: F, I and W of 3, 4 and 2 ms, 8 micro-batches, 1F1B. A micro-batch
keeps 400,000 bytes on a rank, and a device has memory for 2.25 of them. With --impose-host-links a copy takes as long
as the plan's links state. A row is the median iteration of the best of the runs, and the best iteration of all, in ms.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command
from iterations import measured_ns, predicted_ns

RANKS, MICROBATCHES, HELD = 4, 8, 400000
TASKS_MS = {"forward": 3, "input_grad": 4, "weight_grad": 2}
LATENCY_NS = 100000
# Name, bytes/us of each rank's link, and of a link that two ranks share.
CASES = (("copies of 4.1 ms", 100, None), ("copies of 8.1 ms", 50, None), ("copies of 2.1 ms, two ranks a link", 200, 200))


def source(rate, shared):
    times = ", ".join(f"{name}_ns = {1000000 * ms}" for name, ms in TASKS_MS.items())
    link = f"host_link = <latency_ns = {LATENCY_NS}, bytes_per_us = {rate}>"
    lines = ["pipe.cluster @machine {"]
    lines += [f"  pipe.device @d{r} <memory_bytes = {HELD * 9 // 4}, {link}>" for r in range(RANKS)]
    if shared:
        lines += [f"  pipe.host_link [@d{r}, @d{r + 1}] <bytes_per_us = {shared}>" for r in range(0, RANKS, 2)]
    lines += ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<{times}, activation_bytes = {HELD}>" for s in range(RANKS)]
    lines += ["}", f"pipe.plan @step of @timed on @machine microbatches({MICROBATCHES}) {{"]
    lines += [f"  pipe.stage @s{s} [@l{s}] on {s} offload" for s in range(RANKS)]
    lines += ["}", 'pipe.schedule @copied of @step family<"1f1b", offload = fit>']
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rondo", type=pathlib.Path)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    rondo = given.rondo.resolve()
    print(f"1F1B of {RANKS} ranks, {MICROBATCHES} micro-batches, offload = fit; {given.iterations} iterations, {given.runs} runs")
    print(f"{'copies':36} predicted   median              best              load")
    for name, rate, shared in CASES:
        with tempfile.TemporaryDirectory() as folder:
            file, program, log = (pathlib.Path(folder, part) for part in ("timed.mlir", "train", "log"))
            file.write_text(source(rate, shared))
            predicted = predicted_ns(command(rondo, "compile", file, "--emit", "cpp"))
            command(rondo, "compile", file, "-o", program)
            load = os.getloadavg()[0]
            runs = [measured_ns(program, log, given.iterations, "--impose-host-links") for _ in range(given.runs)]
            median, best = min(map(statistics.median, runs)), min(map(min, runs))
            print(f"{name:36} {predicted / 1e6:9.2f} {median / 1e6:8.2f} "
                  f"{100 * (median / predicted - 1):+6.2f} % {best / 1e6:8.2f} {100 * (best / predicted - 1):+6.2f} %   {load:.1f} to {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
