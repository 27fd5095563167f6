#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare rondo verify with an independent checker on micro-batches that differ.

    bench/uneven/mutated.py RONDO CHECKER [--count N] [--problems N] [--seed N]

The schedules are those of families in several orders and of `rondo search`;
both programs must agree on them. Each that is legal is then changed in one way, and both
must report the same first rule, times and peaks. Prints each difference, and a
row for each kind of change. Exit code 1 if any verdict differs.
"""
import argparse
import collections
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from random_problems import problem as random_problem

FIGURES = ("makespan_ns", "span_ns", "peak_memory_bytes")


def moved(rng, _, schedule):
    order = rng.choice([order for order in schedule["ranks"] if len(order) > 1])
    order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))


def neighbours(rng, _, schedule):
    order = rng.choice([order for order in schedule["ranks"] if len(order) > 1])
    at = rng.randrange(len(order) - 1)
    order[at], order[at + 1] = order[at + 1], order[at]


def renamed(rng, problem, schedule):
    """Exchanges two micro-batches everywhere: legal but for caps and `accumulate`."""
    a, b = rng.sample(range(problem["microbatches"]), 2)
    names = {str(a): str(b), str(b): str(a)}
    for order in schedule["ranks"]:
        for at, action in enumerate(order):
            head = action.rstrip("0123456789")
            order[at] = head + names.get(action[len(head):], action[len(head):])


def dropped(rng, _, schedule):
    order = rng.choice(schedule["ranks"])
    order.pop(rng.randrange(len(order)))


def cap(rng, problem, _):
    rank = rng.choice(problem["ranks"])
    rank["memory_bytes"] = rng.randint(1, 300)


def accumulate(rng, problem, schedule):
    order = list(range(problem["microbatches"]))
    rng.shuffle(order)
    schedule["accumulate"] = rng.choice((order, "index", "any"))


def claim(rng, _, schedule):
    schedule["makespan_ns"] += rng.choice((-1, 1))


CHANGES = (moved, neighbours, renamed, dropped, cap, accumulate, claim)


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def for_checker(problem):
    """The checker reads the earlier name of `replicas`."""
    problem = copy.deepcopy(problem)
    for stage in problem["stages"]:
        stage["homes"] = stage.pop("replicas")
    return problem


def verdicts(options, folder, problems, schedules):
    lines(folder / "problems.jsonl", problems)
    lines(folder / "checked.jsonl", map(for_checker, problems))
    lines(folder / "schedules.jsonl", schedules)
    ours = subprocess.run([options.rondo, "verify", "--problems", folder / "problems.jsonl", "--schedules",
                           folder / "schedules.jsonl", "--json"], capture_output=True, text=True, check=False)
    theirs = subprocess.run([sys.executable, options.checker, folder / "checked.jsonl", folder / "schedules.jsonl",
                             "--json"], capture_output=True, text=True, check=False)
    ours = [json.loads(line)["rule"] for line in ours.stdout.splitlines()]
    reports = [json.loads(line) for line in theirs.stdout.splitlines()[:-1]]
    theirs = [report["faults"][0]["rule"] if report["faults"] else None for report in reports]
    if not len(ours) == len(theirs) == len(schedules):
        sys.exit(f"{len(schedules)} schedules, {len(ours)} and {len(theirs)} verdicts")
    return ours, theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo")
    parser.add_argument("checker")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    problems = [random_problem(rng, f"p{number}", number % 3 == 0) for number in range(options.problems)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines(folder / "given.jsonl", problems)
        sound = []
        for family in ("1f1b", "1f1b:order=ascending", "zb-h1:order=long_short", "gpipe:order=best"):
            found = subprocess.run([options.rondo, "simulate", folder / "given.jsonl", "--family", family, "--json"],
                                   capture_output=True, text=True, check=False)
            sound += [row for row in map(json.loads, found.stdout.splitlines()) if "ranks" in row]
        found = subprocess.run([options.rondo, "search", "--problems", folder / "given.jsonl", "--effort", "200"],
                               capture_output=True, text=True, check=True)
        sound += [row for row in map(json.loads, found.stdout.splitlines()) if "ranks" in row]
        by_name = {each["name"]: each for each in problems}
        ours, theirs = verdicts(options, folder, problems, sound)
        unsound = [(a, b, row["problem"]) for a, b, row in zip(ours, theirs, sound) if a != b]
        # A family may exceed a cap that no delay of its F respects.
        sound = [row for a, row in zip(ours, sound) if a is None]
        print(f"{len(sound)} sound schedules, {len(unsound)} called otherwise", *unsound[:3])
        changed, given, kinds = [], [], []
        while len(changed) < options.count:
            schedule = copy.deepcopy(rng.choice(sound))
            problem = copy.deepcopy(by_name[schedule["problem"]])
            kind = rng.choice(CHANGES)
            if kind not in (claim, accumulate) and rng.random() < 0.7:
                for key in FIGURES + ("lower_bound_ns", "proven_optimal"):
                    schedule.pop(key, None)
            kind(rng, problem, schedule)
            problem["name"] = schedule["problem"] = f"c{len(changed)}"
            changed.append(schedule)
            given.append(problem)
            kinds.append(kind.__name__)
        ours, theirs = verdicts(options, folder, given, changed)
    differ = 0
    table = collections.defaultdict(collections.Counter)
    for kind, a, b in zip(kinds, ours, theirs):
        table[kind][a or "legal"] += 1
        # Rondo reports the cycle that stops the run, the checker the first entry of a list that is out of order.
        if a != b and (a, b) != ("deadlock", "dependence"):
            differ += 1
            table[kind]["differ"] += 1
            print(f"differs: {kind}: rondo says {a}, the checker {b}")
    for kind, row in sorted(table.items()):
        print(kind, ", ".join(f"{rule} {count}" for rule, count in sorted(row.items())))
    print(f"{len(changed)} changed schedules, {differ} verdicts differ")
    return 1 if differ or unsound else 0


if __name__ == "__main__":
    sys.exit(main())
