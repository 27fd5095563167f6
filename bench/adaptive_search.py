#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the search while training: adaptive_search.py RONDO [RANKS] [EVERY] [RUNS] [SECONDS].

RANKS (default 8) timed stages of 1 ms tasks, as in adaptive.py, with a program that starts with
1F1B and searches, deciding every EVERY iterations (default 2). From iteration 21 on all links
carry less. For each bandwidth, in RUNS runs (default 2): the time from then until another schedule
runs, and the iterations before the change, right after it, and at the end.

Then `rondo search`, alone on the machine, gets the costs and links that the program measured last,
and devices of the size of its arenas, for 1 s and for SECONDS (default 10). Stages have a weight, so that it counts messages as
the program does. Its schedule is timed as a program, by the simulator, as is the program's: "off"
says how much longer the program's takes.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RONDO = pathlib.Path(sys.argv[1]).resolve()
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
EVERY = sys.argv[3] if len(sys.argv) > 3 else "2"
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 2
SECONDS = int(sys.argv[5]) if len(sys.argv) > 5 else 10
FAST, BANDWIDTHS, CHANGE, ITERATIONS = 10000, (200, 100, 60), 21, 60


def plan(memory, times, links=()):
    """A plan, with memory and times by rank; `links` as the program prints them."""
    lines = [f"pipe.cluster @lab link<latency_ns = 10000, bytes_per_us = {FAST}> {{"]
    lines += [f"  pipe.device @d{r} <memory_bytes = {memory[r]}>" for r in range(RANKS)]
    lines += [f"  pipe.link @d{l['from']} -> @d{l['to']} <latency_ns = {l['latency_ns']}, bytes_per_us = {l['bytes_per_us']}>" for l in links]
    lines += ["}", "pipe.model @m {"]
    lines += [f"  pipe.layer @l{r} synthetic<forward_ns = {f}, input_grad_ns = {i}, weight_grad_ns = {w},"
              " activation_bytes = 1000000, output_bytes = 100000, weight_bytes = 64>" for r, (f, i, w) in enumerate(times)]
    lines += ["}", f"pipe.plan @step of @m on @lab microbatches({4 * RANKS}) {{"]
    lines += [f"  pipe.stage @s{r} [@l{r}] on {r}" for r in range(RANKS)]
    lines += ["}"]
    return "\n".join(lines) + "\n"


def rondo(*words):
    return subprocess.run([str(w) for w in (RONDO, *words)], check=True, capture_output=True, text=True).stdout


def arenas_of(source):
    """Bytes of the adaptive program's arenas, by rank."""
    text = rondo("compile", source, "--emit=lowered")
    return [int(bytes) for bytes in re.search(r"arena \[([0-9, ]+)\]", text)[1].split(",")]


def offline(folder, arenas, measured, seconds):
    """ns of the program of what `rondo search` finds for these costs."""
    times = [None] * RANKS
    for stage in measured["stages"]:
        times[stage["rank"]] = [stage[f"{kind}_ns"] for kind in ("forward", "input_grad", "weight_grad")]
    source, best = folder / "offline.mlir", folder / "best.mlir"
    source.write_text(plan(arenas, times, measured["links"]))
    rondo("search", source, "--time-limit-ms", 1000 * seconds, "-o", best)
    name = re.search(r"pipe.schedule @(\S+) of @step", best.read_text())[1]
    row = rondo("candidates", best, "--schedule", name, "--effort", 1)
    return 1e6 * float(re.search(rf"@{name} .*?as stated +\*?([0-9.]+) ms", row)[1])


def measure(program, trace, log):
    subprocess.run([program, "--schedule", "main", "--adapt", "search", "--adapt-every", EVERY, "--adapt-dwell", EVERY,
                    "--iterations", str(ITERATIONS), "--link-trace", trace, "--json-log", log, "--quiet"], check=True)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    ms = {line["iteration"]: line["ns"] / 1e6 for line in lines if "ns" in line}
    switches = [line["iteration"] for line in lines if "switch" in line and line["iteration"] >= CHANGE]
    waited = f"{sum(ms[i] for i in range(CHANGE, switches[0] + 1)):.0f} ms" if switches else ""
    median = lambda first, last: statistics.median(ms[i] for i in range(first, last + 1))
    print(f"{'switched after ' + waited if waited else 'not needed'}; an iteration before {median(CHANGE - 8, CHANGE - 1):.1f} ms, "
          f"after the change {ms[CHANGE + 1]:.1f} ms, at the end {median(ITERATIONS - 15, ITERATIONS):.1f} ms", flush=True)
    known = [line for line in lines if "estimates" in line][-1]
    return [line for line in lines if "links" in line and line["iteration"] <= known["iteration"]][-1], known["estimates"][known["runs"]]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, program = folder / "plan.mlir", folder / "train"
        memory = 2 * RANKS * 1000000 + 1000000
        source.write_text(plan([memory] * RANKS, [[1000000] * 3] * RANKS) + 'pipe.schedule @main of @step family<"1f1b">\n')
        adaptive = folder / "adaptive.mlir"
        rondo("candidates", source, "-o", adaptive)
        rondo("compile", adaptive, "-o", program)
        arenas = arenas_of(adaptive)
        print(f"arenas of {min(arenas) / 2**20:.2f} to {max(arenas) / 2**20:.2f} MiB; load at the start {os.getloadavg()[0]:.1f}")
        for bandwidth in BANDWIDTHS:
            trace = folder / "trace.csv"
            trace.write_text("iteration,from,to,latency_us,bytes_per_us\n"
                             f"1,*,*,10,{FAST}\n{CHANGE},*,*,10,{bandwidth}\n")
            for _ in range(RUNS):
                print(f"{RANKS} ranks, {bandwidth} bytes per us: ", end="")
                measured, ns = measure(program, trace, folder / "log")
                print(f"  its schedule {ns / 1e6:.1f} ms", end="")
                for seconds in (1, SECONDS):
                    found = offline(folder, arenas, measured, seconds)
                    print(f"; searched for {seconds} s {found / 1e6:.1f} ms, off {100 * (ns / found - 1):+.1f} %", end="", flush=True)
                print()
        print(f"load at the end {os.getloadavg()[0]:.1f}")


main()
