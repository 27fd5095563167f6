#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure what an order of sums that a short search has found costs a longer one.

    bench/uneven/sums.py RONDO SHARED [--efforts N,...] [--effort N]

A program that draws documents fixes the order of sums of each batch by a search of a small
effort; later searches keep it. For each small effort this prints, over the problems of
SHARED/oracles/uneven.*: the time of the small search, the mean gap of its schedule above the
best known one, and the mean gap of a search with --effort under its order of sums. The last
line is a search with --effort that may choose the order.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time


def renumber(problem, order):
    """The problem whose micro-batch i is order[i] of the given one."""
    if isinstance(problem, dict):
        return {key: [value[i] for i in order] if key.endswith("_by_index") or key == "sizes"
                else renumber(value, order) for key, value in problem.items()}
    return [renumber(item, order) for item in problem] if isinstance(problem, list) else problem


def search(rondo, problems, effort, order):
    with tempfile.TemporaryDirectory() as folder:
        inputs, output = (pathlib.Path(folder) / name for name in ("problems.jsonl", "schedules.jsonl"))
        inputs.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
        begin = time.perf_counter()
        subprocess.run([rondo, "search", "--problems", inputs, "--effort", str(effort), "--order", order,
                        "--output", output], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        return [json.loads(line) for line in output.read_text().splitlines()], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--efforts", default="10,30,100,300,1000,3000")
    parser.add_argument("--effort", type=int, default=10000)
    options = parser.parse_args()
    problems = [json.loads(line)
                for line in (options.shared / "oracles/uneven.problems.jsonl").read_text().splitlines()]
    optima = json.loads((options.shared / "oracles/uneven.optima.json").read_text())

    def text(schedules):
        gaps = [found["makespan_ns"] / optima[found["problem"]]["best_ns"] - 1 for found in schedules
                if "infeasible" not in found]
        return f"mean {100 * sum(gaps) / len(gaps):6.3f} %, worst {100 * max(gaps):6.2f} %"

    for small in map(int, options.efforts.split(",")):
        early, seconds = search(options.rondo, problems, small, "wperm")
        pairs = [(problem, found.get("accumulate")) for problem, found in zip(problems, early)
                 if "infeasible" not in found]
        fixed = [renumber(problem, order) if order and order != "index" else problem for problem, order in pairs]
        late, _ = search(options.rondo, fixed, options.effort, "sums")
        print(f"effort {small:5}: {1000 * seconds / len(problems):8.2f} ms a problem, gap {text(early)}; "
              f"then under its order of sums: {text(late)}", flush=True)
    free, seconds = search(options.rondo, problems, options.effort, "wperm")
    print(f"effort {options.effort:5}: {1000 * seconds / len(problems):8.2f} ms a problem, gap {text(free)}")


if __name__ == "__main__":
    main()
