# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `rondo verify` with an independent checker on random schedules.

    differential.py CHECKER SEED COUNT FOLDER

Two rounds: in the second, the schedules claim the figures that the checker
computed in the first, right or slightly wrong, with bounds around them. Prints
how many verdicts of each rule agree; exits with 1 at the first that differs.
"""

import collections
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
import mutants  # noqa: E402


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or done.stderr:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(checker, problems, schedules, seen):
    theirs = run([sys.executable, checker, problems, schedules, "--json"])[:-1]
    ours = run(["rondo", "verify", "--problems", problems, "--schedules", schedules, "--json"])
    lines = open(schedules).read().splitlines()
    if not len(ours) == len(theirs) == len(lines):
        sys.exit(f"{len(lines)} schedules, but {len(ours)} and {len(theirs)} verdicts")
    for line, our, their in zip(lines, ours, theirs):
        rule = their["faults"][0]["rule"] if their["faults"] else None
        if our["rule"] != rule or our["legal"] != (rule is None) or our["problem"] != their["problem"]:
            sys.exit(f"{line}\nrondo: {our}\nchecker: {their}")
        seen[rule or "legal"] += 1
    return theirs


def claims(rng, schedules, reports, path):
    """Rewrites the schedules with mostly right figures."""
    with open(path, "w") as file:
        for line, report in zip(schedules, reports):
            schedule = json.loads(line)
            if report["makespan_ns"] is None:
                continue
            for key in ("makespan_ns", "span_ns", "peak_memory_bytes"):
                if rng.random() < 0.7:
                    schedule[key] = report[key]
            schedule["objective"] = rng.choice(["makespan", "span"])
            reached = report[schedule["objective"] + "_ns"]
            schedule["lower_bound_ns"] = max(0, reached + rng.choice([0, 0, 0, -1, 1]))
            schedule["proven_optimal"] = rng.random() < 0.5
            if rng.random() < 0.5:
                mutants.claim(rng, schedule)
            if rng.random() < 0.2:
                mutants.bound(rng, schedule)
            if rng.random() < 0.1:
                schedule.pop("lower_bound_ns")
            print(json.dumps(schedule), file=file)


def main():
    checker, seed, count, folder = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
    os.makedirs(folder, exist_ok=True)
    problems, first, second = (os.path.join(folder, name) for name in ("p.jsonl", "first.jsonl", "second.jsonl"))
    subprocess.run([sys.executable, mutants.__file__, seed, count, problems, first], check=True)
    seen = collections.Counter()
    reports = compare(checker, problems, first, seen)
    claims(random.Random(int(seed)), open(first).read().splitlines(), reports, second)
    compare(checker, problems, second, seen)
    print("agreed:", ", ".join(f"{rule} {number}" for rule, number in sorted(seen.items())))


if __name__ == "__main__":
    main()
