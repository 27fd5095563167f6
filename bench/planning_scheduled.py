#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What plans gain from a schedule: planning_scheduled.py RONDO PROBLEMS [TIME_LIMIT_MS [EVERY]].

PROBLEMS is a rondo-planning/1 file, of which every EVERY-th problem is planned (default 1) under
evaluator rondo, with a time limit for each (default 1000). Prints a row of a Markdown table for each
number of devices: by how much the plans take longer that Rondo finds under 1f1b and spp-full-duplex
and the best of the published planners' plans that fit, all timed by the same rule; the plans'
time over the lower bound; and for how many problems one of the others is faster.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile


def tables_of(text):
    """[problem]: {planner: its time / Rondo's}, for plans that fit."""
    tables, table = {}, {}
    for line in text.splitlines():
        if title := re.fullmatch(r"(.+): \d+ layers? on \d+ devices?, \d+ micro-batch(es)?, rondo", line):
            table = tables.setdefault(title[1], {})
        elif line == "summary":
            break
        elif (row := re.match(r"  (\S+) +\d+ +\S+ \S+ +([0-9.]+) ", line)) and "does not fit" not in line:
            table[row[1]] = float(row[2])
    return tables


def percent(values, how):
    return f"{100 * (how(values) - 1):.1f} %"


def row(name, tables, plans):
    ours = {"rondo", "rondo-1f1b", "rondo-spp"}
    columns = [[t[planner] for t in tables if planner in t] for planner in ("rondo-1f1b", "rondo-spp")]
    columns.append([min(r for n, r in t.items() if n not in ours) for t in tables if set(t) - ours])
    columns.append([plan["time_ns"] / plan["lower_bound_ns"] for plan in plans])
    cells = [f"{percent(c, statistics.mean)}, {percent(c, max)}" for c in columns]
    faster = [least for t in tables if (least := min(t.values())) < 1]
    lost = f"{len(faster)}, by {100 * (1 / min(faster) - 1):.1f} % at most" if faster else "0"
    proven = sum(plan["proven_optimal"] for plan in plans)
    return f"| {name} | {len(plans)} | {' | '.join(cells)} | {proven} | {lost} |"


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    rondo, problems = sys.argv[1:3]
    limit_ms = sys.argv[3] if len(sys.argv) > 3 else "1000"
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    lines = pathlib.Path(problems).read_text().splitlines()[::every]
    devices = {problem["name"]: len(problem["devices"]["node"]) for problem in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as folder:
        chosen, output = pathlib.Path(folder) / "problems.jsonl", pathlib.Path(folder) / "plans.jsonl"
        chosen.write_text("\n".join(lines) + "\n")
        command = [rondo, "plan", "--problems", chosen, "--evaluator", "rondo", "--time-limit-ms", limit_ms, "--baselines", "-o", output]
        ran = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
        plans = [plan for plan in map(json.loads, output.read_text().splitlines()) if "infeasible" not in plan]
    tables = tables_of(ran.stdout)
    print("| devices | problems | 1f1b's plan | spp-full-duplex's | best published | above the bound | proven | another is faster |")
    print("|---|---|---|---|---|---|---|---|")
    for count in sorted({devices[plan["problem"]] for plan in plans}):
        own = [plan for plan in plans if devices[plan["problem"]] == count]
        print(row(count, [tables[plan["problem"]] for plan in own], own))
    print(row("all", [tables[plan["problem"]] for plan in plans], plans))


if __name__ == "__main__":
    main()
