#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What shared NICs do to plans: planning_nics.py RONDO PROBLEMS [TIME_LIMIT_MS].

PROBLEMS is a rondo-planning/1 file. Of those in the set "main" (or in none), the
heterogeneous ones count: pairs of devices on two servers have different rates.
Each is planned as it is, with independent links, and with one NIC a server.
Prints rows of a Markdown table: by how much the best plan of some published
planners takes longer than Rondo's, by `rondo plan --baselines`, which has three
decimals. Plans that do not fit memory do not count.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

EVALUATORS = ("spp", "spp-full-duplex", "1f1b")
# Baselines by name; None: all columns of the table.
RIVALS = {
    "best published": None,
    "SPP": {"spp"},
    "best of data parallel, GPipe, PipeDream": {"data-parallel", "gpipe", "pipedream"},
}


def is_heterogeneous(problem):
    nodes, rates = problem["devices"]["node"], problem["bytes_per_us"]
    pairs = ((u, v) for u in range(len(nodes)) for v in range(len(nodes)) if nodes[u] != nodes[v])
    return len({rates[u][v] for u, v in pairs}) > 1


def with_nics(problem):
    """One NIC a server."""
    devices = problem["devices"]
    return {**problem, "devices": {**devices, "nic": devices["node"]}}


def ratios_of(rondo, problems, evaluator, limit_ms):
    """[problem]: {planner: its time / Rondo's}."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "problems.jsonl"
        path.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
        command = [rondo, "plan", "--problems", path, "--evaluator", evaluator, "--time-limit-ms", limit_ms, "--baselines"]
        done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    ratios = {}
    for block in done.stdout.split("\n\n"):
        name = block.split(":")[0].strip()
        rows = {}
        for line in block.splitlines():
            found = re.match(r"  (\S+) +\d+ +\S+ \S?s +(\d+\.\d+) ", line)
            if found and "does not fit" not in line:
                rows[found[1]] = float(found[2])
        if "rondo" in rows:
            ratios[name] = rows
    missing = {problem["name"] for problem in problems} - set(ratios)
    if missing:
        sys.exit(f"no table for {sorted(missing)}")
    return ratios


def row(links, evaluator, rival, planners, ratios):
    gains = []
    for rows in ratios.values():
        others = [ratio for name, ratio in rows.items() if name != "rondo" and (planners is None or name in planners)]
        if others:
            gains.append(100 * (min(others) - 1))
    below = sum(gain < -0.05 for gain in gains)
    return (
        f"| {links} | {evaluator} | {rival} | {len(gains)} | {statistics.median(gains):.1f} % |"
        f" {statistics.mean(gains):.1f} % | {max(gains):.1f} % | {below} |"
    )


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    rondo, path = sys.argv[1:3]
    limit_ms = int(sys.argv[3]) if len(sys.argv) == 4 else 1000
    problems = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    problems = [p for p in problems if p.get("set", "main") == "main" and is_heterogeneous(p)]
    print("| links | evaluator | compared with | plans | median | mean | greatest | slower than it |")
    print("|---|---|---|---|---|---|---|---|")
    for evaluator in EVALUATORS:
        for links, some in {"independent": problems, "one NIC a server": [with_nics(p) for p in problems]}.items():
            ratios = ratios_of(rondo, some, evaluator, limit_ms)
            for rival, planners in RIVALS.items():
                print(row(links, evaluator, rival, planners, ratios), flush=True)


if __name__ == "__main__":
    main()
