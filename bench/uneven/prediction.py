#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of iterations whose micro-batches differ, against the prediction.

    bench/uneven/prediction.py RONDO [--iterations N] [--runs N]

Four ranks are threads whose layers only take time, listed by micro-batch: 8 micro-batches of
1 to 6 units, of 1 ms in F and W and 2 ms in I, in four cases. The schedule is
1F1B in the given order, and a searched one. A row is the median iteration of the best of the runs,
and the best iteration of all, in ms.
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

RANKS = 4
CASES = (("equal", [3] * 8), ("lognormal", [2, 4, 1, 3, 6, 2, 3, 1]), ("one long", [2, 2, 2, 6, 2, 2, 2, 2]),
         ("ascending", [1, 2, 2, 3, 3, 4, 5, 6]))


def source(units):
    def figures(part):
        return ", ".join(str(int(1e6 * part * unit)) for unit in units)
    times = (f"forward_ns = [{figures(1)}], input_grad_ns = [{figures(2)}], weight_grad_ns = [{figures(1)}], "
             f"activation_bytes = [{figures(0.01)}], output_bytes = [{figures(0.001)}]")
    lines = ["pipe.cluster @machine link<latency_ns = 20000, bytes_per_us = 10000> {"]
    lines += [f"  pipe.device @d{r}" for r in range(RANKS)]
    lines += ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<{times}, weight_bytes = 256>" for s in range(RANKS)]
    lines += ["}", f"pipe.plan @step of @timed on @machine microbatches({len(units)}) {{"]
    lines += [f"  pipe.stage @s{s} [@l{s}] on {s}" for s in range(RANKS)]
    lines += ["}", 'pipe.schedule @given of @step family<"1f1b">', "pipe.schedule @searched of @step search<effort = 2000>"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rondo", type=pathlib.Path)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    rondo = given.rondo.resolve()
    print(f"{RANKS} ranks; {given.iterations} iterations, {given.runs} runs")
    print(f"{'lengths':12} {'schedule':10} predicted   median              best              load")
    for name, units in CASES:
        for schedule in ("given", "searched"):
            with tempfile.TemporaryDirectory() as folder:
                file, program, log = (pathlib.Path(folder, part) for part in ("timed.mlir", "train", "log"))
                file.write_text(source(units))
                predicted = predicted_ns(command(rondo, "compile", file, "--schedule", schedule, "--emit", "cpp"))
                command(rondo, "compile", file, "--schedule", schedule, "-o", program)
                load = os.getloadavg()[0]
                runs = [measured_ns(program, log, given.iterations) for _ in range(given.runs)]
            median, best = min(map(statistics.median, runs)), min(map(min, runs))
            print(f"{name:12} {schedule:10} {predicted / 1e6:9.2f} {median / 1e6:8.2f} {100 * (median / predicted - 1):+6.2f} % "
                  f"{best / 1e6:8.2f} {100 * (best / predicted - 1):+6.2f} %   {load:.1f} to {os.getloadavg()[0]:.1f}",
                  flush=True)


if __name__ == "__main__":
    main()
