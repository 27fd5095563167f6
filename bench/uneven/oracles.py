#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure rondo search on problems whose optima are known.

    bench/uneven/oracles.py RONDO SHARED [--limit-ms N | --effort N] [--jobs N]

SHARED is the folder with oracles/uneven.* and tools/check_extended.py, which
judges the schedules. On a busy machine use --effort: 45000 takes 600 ms of a
free core of an AMD EPYC. Prints how many proven optima were met, the gaps, wrong
bounds, and the largest gaps.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--limit-ms", type=int, default=600)
    parser.add_argument("--effort", type=int, help="instead of the time limit, as of rondo search")
    parser.add_argument("--jobs", type=int, default=1, help="problems that are searched at the same time")
    options = parser.parse_args()
    problems = options.shared / "oracles/uneven.problems.jsonl"
    optima = json.loads((options.shared / "oracles/uneven.optima.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "schedules.jsonl"
        limit = ["--effort", options.effort] if options.effort else ["--time-limit-ms", options.limit_ms]
        subprocess.run([options.rondo, "search", "--problems", problems, *map(str, limit),
                        "--threads", str(options.jobs), "--output", output], check=True, stdout=subprocess.DEVNULL)
        checked = subprocess.run([sys.executable, options.shared / "tools/check_extended.py", problems, output],
                                 capture_output=True, text=True, check=False)
        schedules = [json.loads(line) for line in output.read_text().splitlines()]
    print(checked.stdout.strip().splitlines()[-1])
    met = proven = false = 0
    gaps = []
    for schedule in schedules:
        name = schedule["problem"]
        known = optima[name]
        if "infeasible" in schedule or known.get("infeasible"):
            false += bool(known.get("infeasible")) != ("infeasible" in schedule)
            continue
        best, found = known["best_ns"], schedule["makespan_ns"]
        false += schedule["lower_bound_ns"] > best or (schedule["proven_optimal"] and found > best)
        proven += known["proven"]
        met += known["proven"] and found <= best
        gaps.append((found / best - 1, name))
    print(f"{met} of {proven} proven optima met, {100 * met / proven:.1f} %; mean gap "
          f"{100 * sum(gap for gap, _ in gaps) / len(gaps):.3f} %, worst {100 * max(gaps)[0]:.2f} %; "
          f"{false} false claims")
    for gap, name in sorted(gaps, reverse=True)[:5]:
        if gap > 0:
            print(f"  {name} {100 * gap:.2f} %")


if __name__ == "__main__":
    main()
