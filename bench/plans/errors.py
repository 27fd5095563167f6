#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far predicted iterations are from measured ones, by family of runs.

errors.py RUNS FILE [NAME=VALUE...]: RUNS is build/bench/called/plans, FILE the measured runs
(a JSON object a line), NAME a constant to predict with. A pair of layouts of one
model, cluster and batch is in order if the one that was measured to be faster, by
5 % or more, is predicted to be faster. A run fits if it takes at most 0.97 of a
device's memory.
"""

import collections
import itertools
import json
import subprocess
import sys

CAPACITY = {"A100-80GB": 80e9, "A100-40GB": 40e9}


def median(values):
    return sorted(values)[len(values) // 2]


def same_choice(run):
    """The key of a group of runs, which differ in their layouts alone."""
    config = run["config"]
    stated = [config.get(k) for k in ("attention", "flash_version", "norm_kernel")]
    parts = [run["model"], run["cluster"], config["gbs"], config["precision"], stated]
    if run["family"].startswith("bridge"):
        parts.append(run["source"])
    return json.dumps(parts)


def print_times(runs, predicted):
    families = collections.defaultdict(list)
    for run in runs:
        seconds = run["measured"].get("iteration_s")
        if seconds and not run.get("superseded"):
            families[run["family"]].append((run, predicted[run["id"]][0], seconds))
    print("family                 runs  median   90 %   worst    bias  pairs  in order")
    for family, rows in sorted(families.items()):
        errors = sorted(abs(guess / seconds - 1) for _, guess, seconds in rows)
        worst = max((guess / seconds - 1 for _, guess, seconds in rows), key=abs)
        bias = median([guess / seconds for _, guess, seconds in rows]) - 1
        groups = collections.defaultdict(list)
        for run, guess, seconds in rows:
            groups[same_choice(run)].append((guess, seconds))
        right = [
            (a[0] - b[0]) * (a[1] - b[1]) > 0
            for group in groups.values()
            for a, b in itertools.combinations(group, 2)
            if abs(a[1] / b[1] - 1) > 0.05
        ]
        share = f"{100 * sum(right) / len(right):.1f} %" if right else ""
        print(
            f"{family:22} {len(rows):4} {100 * median(errors):6.1f} % "
            f"{100 * errors[int(0.9 * (len(errors) - 1))]:5.1f} % {100 * worst:+6.1f} % "
            f"{100 * bias:+6.1f} % {len(right):5}  {share}"
        )


def print_memory(runs, predicted):
    seen = missed = alarms = fine = 0
    for run in runs:
        if run["family"] != "aleph":
            continue
        is_full = sum(predicted[run["id"]][1:]) > 0.97 * CAPACITY[run["cluster"]["gpu"]]
        if "oom" in run["measured"]:
            seen += is_full
            missed += not is_full
        else:
            alarms += is_full
            fine += not is_full
    print(f"out of memory: {seen} of {seen + missed} foreseen; false alarms: {alarms} of {alarms + fine}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
    predicted = {}
    for line in output.splitlines():
        name, *numbers = line.split()
        predicted[name] = [float(number) for number in numbers]
    print_times(runs, predicted)
    print_memory(runs, predicted)


main()
