#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulates programs that change their schedule, beside Ada-Grouper's tuner.

    adaptive_simulate.py BUILD [RANKS...]

RANKS (default 4 8 16 32 64) timed stages; adaptive_simulate.cpp says what they take, and what is
simulated. Each trace of link_traces.py has phases of 100 iterations; on a slow link a message takes
0.25, 0.5 or 1 of a forward (c/F), on a fast one 0.01, for micro-batches as written. Memory of a
rank is that of 1F1B as written (room 1), or twice as much.

A gain says how much longer another takes than the adaptive program, in percent: the mean of the five
traces, for the first with the least and the most.

    1F1B, k = 2  with the micro-batches that are best for the whole trace, known in hindsight
    kFkB         the same with the best k of all that fit
    tuner        Ada-Grouper's: for each k the largest micro-batches that fit, estimated by
                 simulation; it knows their costs from the start. Interval, least gain and dwell
                 are Rondo's, as the paper's are not known
    one          the one schedule of the adaptive program that is best for the whole trace, known
                 in hindsight
    regret       against the fastest of all these schedules in each phase
    tuner/1F1B   what Ada-Grouper's tuner gains over 1F1B; its paper says 4 to 30 %

Beside them the arena of the fullest rank in MiB, of 1F1B, of k = 2 and of the two that adapt.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import link_traces

PROGRAM = pathlib.Path(sys.argv[1], "bench", "called", "adaptive_simulate").resolve()
RANKS = [int(r) for r in sys.argv[2:]] or [4, 8, 16, 32, 64]
ROOMS, RATIOS = (1, 2), (0.25, 0.5, 1)
PHASE, ITERATIONS, FAST, LATENCY = 100, 800, 10000, 10
# Search budget per rank, in thousands of tasks.
EFFORT_OF_RANK = 400


def write_traces(folder, ratio):
    paths = []
    for kind in link_traces.KINDS:
        # Messages of 100,000 bytes, forwards of 1 ms.
        changes = link_traces.phases(kind, ITERATIONS, PHASE, FAST, round(100 / ratio), seed=1)
        path = pathlib.Path(folder, f"{kind}-{ratio}.csv")
        path.write_text("\n".join(link_traces.rows(kind, changes, LATENCY)) + "\n")
        paths.append(path)
    return paths


def simulate(ranks, room, traces):
    command = [PROGRAM, ranks, room, EFFORT_OF_RANK * ranks, ITERATIONS, *traces]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def policies(result):
    """ns and bytes by policy."""
    def best(kind, matches=lambda name: True):
        return min((p for p in result["policies"] if p["kind"] == kind and matches(p["name"])), key=lambda p: p["ns"])

    chosen = {"kFkB": best("group"), "one": best("own")}
    for name, k in (("1F1B", 1), ("k = 2", 2)):
        chosen[name] = best("group", lambda group, k=k: group.startswith(f"kfkb k={k} "))
    for tuner in ("ada-grouper", "rondo"):
        chosen[tuner] = best("tuner", lambda name, tuner=tuner: name == tuner)
    return chosen


def show(ranks, room, ratio, results):
    found = [policies(result) for result in results]

    def gains(slow, fast="rondo"):
        return [100 * (each[slow]["ns"] / each[fast]["ns"] - 1) for each in found]

    regret = [100 * (each["rondo"]["ns"] / result["hindsight_ns"] - 1) for each, result in zip(found, results)]
    first, theirs = gains("1F1B"), gains("1F1B", "ada-grouper")
    means = [statistics.mean(gains(name)) for name in ("k = 2", "kFkB", "ada-grouper", "one")]
    memory = [max(each[name]["bytes"] for each in found) / 2**20 for name in ("1F1B", "k = 2", "ada-grouper", "rondo")]
    print(f"{ranks:5} {room:4} {ratio:4g}  {statistics.mean(first):5.1f} ({min(first):4.1f} to {max(first):4.1f})"
          + "".join(f" {gain:5.1f}" for gain in means) + f" {statistics.mean(regret):6.1f}"
          + f"  {statistics.mean(theirs):5.1f} ({min(theirs):4.1f} to {max(theirs):4.1f})  "
          + "".join(f" {mib:6.1f}" for mib in memory), flush=True)


def main():
    print(f"{'gain over, %':>29}{'tuner/1F1B':>59}{'MiB':>16}")
    print(f"{'ranks':>5} {'room':>4} {'c/F':>4}  {'1F1B':21} {'k = 2':>5} {'kFkB':>5} {'tuner':>5} {'one':>5} {'regret':>6}{'':25}"
          + "".join(f" {name:>6}" for name in ("1F1B", "k = 2", "tuner", "Rondo")))
    with tempfile.TemporaryDirectory() as folder:
        traces = {ratio: write_traces(folder, ratio) for ratio in RATIOS}
        for ranks in RANKS:
            for room in ROOMS:
                results = simulate(ranks, room, [path for ratio in RATIOS for path in traces[ratio]])
                for number, ratio in enumerate(RATIOS):
                    count = len(link_traces.KINDS)
                    show(ranks, room, ratio, results[number * count:(number + 1) * count])


main()
