#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the search while training: adaptive_search.py RONDO [RANKS] [EVERY].

RANKS (default 8) timed stages of 1 ms tasks, as in adaptive.py, with a program that starts with
1F1B and searches, deciding every EVERY iterations (default 2). From iteration 21 on all links
carry less. For each bandwidth: the time from then until a schedule that was found runs, and the
iterations before the change, right after it, and at the end.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

RONDO = pathlib.Path(sys.argv[1]).resolve()
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
EVERY = sys.argv[3] if len(sys.argv) > 3 else "2"
FAST, BANDWIDTHS, CHANGE, ITERATIONS, RUNS = 10000, (200, 100, 60), 21, 60, 2


def plan():
    memory = 2 * RANKS * 1000000 + 1000000
    lines = [f"pipe.cluster @lab link<latency_ns = 10000, bytes_per_us = {FAST}> {{"]
    lines += [f"  pipe.device @d{r} <memory_bytes = {memory}>" for r in range(RANKS)]
    lines += ["}", "pipe.model @m {"]
    lines += [f"  pipe.layer @l{r} synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000,"
              " activation_bytes = 1000000, output_bytes = 100000>" for r in range(RANKS)]
    lines += ["}", f"pipe.plan @step of @m on @lab microbatches({4 * RANKS}) {{"]
    lines += [f"  pipe.stage @s{r} [@l{r}] on {r}" for r in range(RANKS)]
    lines += ["}", 'pipe.schedule @main of @step family<"1f1b">']
    return "\n".join(lines) + "\n"


def measure(program, trace, log):
    subprocess.run([program, "--schedule", "main", "--adapt", "search", "--adapt-every", EVERY, "--adapt-dwell", EVERY,
                    "--iterations", str(ITERATIONS), "--link-trace", trace, "--json-log", log, "--quiet"], check=True)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    ms = {line["iteration"]: line["ns"] / 1e6 for line in lines if "ns" in line}
    switches = [line["iteration"] for line in lines if "switch" in line and line["iteration"] >= CHANGE]
    waited = f"{sum(ms[i] for i in range(CHANGE, switches[0] + 1)):.0f} ms" if switches else "no switch"
    median = lambda first, last: statistics.median(ms[i] for i in range(first, last + 1))
    return (f"switched after {waited}; an iteration before {median(CHANGE - 8, CHANGE - 1):.1f} ms, "
            f"after the change {ms[CHANGE + 1]:.1f} ms, at the end {median(ITERATIONS - 15, ITERATIONS):.1f} ms")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, program = folder / "plan.mlir", folder / "train"
        source.write_text(plan())
        subprocess.run([RONDO, "compile", source, "--adaptive", "-o", program], check=True, stdout=subprocess.DEVNULL)
        for bandwidth in BANDWIDTHS:
            trace = folder / "trace.csv"
            trace.write_text("iteration,from,to,latency_us,bytes_per_us\n"
                             f"1,*,*,10,{FAST}\n{CHANGE},*,*,10,{bandwidth}\n")
            for _ in range(RUNS):
                print(f"{RANKS} ranks, {bandwidth} bytes per us: {measure(program, trace, folder / 'log')}", flush=True)


main()
