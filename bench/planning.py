#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares rondo's plans with known ones: planning.py RONDO PROBLEMS KNOWN [TIME_LIMIT_MS].

PROBLEMS is a rondo-planning/1 file; KNOWN has times by problem and planner,
{problem: {planner: {"t_1f1b": ns, ...}}}, where opt_* are optima, best_* the
best known, and all others are peers. Those whose "mem_1f1b" is above a device's
memory do not count. Prints a row of a Markdown table for each evaluator, whose
first columns are of the problems without a known optimum; the time limit is for
each problem (default 1000).
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Keys: evaluators. Values: the key of its times, and the end of the names of
# its optima.
EVALUATORS = {"1f1b": ("t_1f1b", "1f1b"), "spp": ("t_pe", "pe"), "spp-full-duplex": ("t_pefd", "pefd")}


def plans_of(rondo, problems, evaluator, limit_ms):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "plans.jsonl"
        command = [rondo, "plan", "--problems", problems, "--evaluator", evaluator, "--time-limit-ms", limit_ms, "-o", path]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in path.read_text().splitlines()]


def fits(figures, memory):
    """Whether a plan keeps a device's memory; 0: no limit."""
    return memory == 0 or figures.get("mem_1f1b", 0) <= memory


def row(plans, known, memory, evaluator):
    key, end = EVALUATORS[evaluator]
    to_best, bound_to_optimum, above, better, optima, met = [], [], 0, 0, 0, 0
    for plan in plans:
        peers = known.get(plan["problem"], {})
        times = {
            name: figures[key]
            for name, figures in peers.items()
            if isinstance(figures, dict) and key in figures and fits(figures, memory[plan["problem"]])
        }
        if not times or "infeasible" in plan:
            continue
        time = plan["time_ns"]
        above += any(t < time for name, t in times.items() if not name.startswith(("opt_", "best_")))
        # With all devices in use, and perhaps with some idle.
        optimum = min((times[name] for name in (f"opt_{end}", f"opt_{end}_subset") if name in times), default=None)
        if optimum:
            optima += 1
            met += time <= optimum
            bound_to_optimum.append(plan["lower_bound_ns"] / optimum)
        else:
            to_best.append(time / min(times.values()))
            better += time < min(times.values())
    if not to_best:
        return f"| {evaluator} | no plan to compare |"
    bound = f"{statistics.mean(bound_to_optimum):.3f}" if bound_to_optimum else "-"
    return (
        f"| {evaluator} | {len(to_best)} | {statistics.mean(to_best):.4f} | {max(to_best):.3f} | {better} |"
        f" {above} | {met} of {optima} | {bound} |"
    )


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    rondo, problems, known_path = sys.argv[1:4]
    limit_ms = int(sys.argv[4]) if len(sys.argv) == 5 else 1000
    known = json.loads(pathlib.Path(known_path).read_text())
    lines = pathlib.Path(problems).read_text().splitlines()
    memory = {problem["name"]: problem["devices"]["memory_bytes"] for problem in map(json.loads, lines)}
    print("| evaluator | plans | mean to best known | greatest | below it | above a peer | optima met | bound to optimum |")
    print("|---|---|---|---|---|---|---|---|")
    for evaluator in EVALUATORS:
        print(row(plans_of(rondo, problems, evaluator, limit_ms), known, memory, evaluator), flush=True)


if __name__ == "__main__":
    main()
