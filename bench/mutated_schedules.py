#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks sound schedules, and compares the verdicts of rondo verify with those of an independent checker.

    bench/mutated_schedules.py RONDO CHECKER [--count N] [--seed N] [--keep FOLDER]

CHECKER is a program that is called as `python3 CHECKER PROBLEMS SCHEDULES --json`
and prints a line for each schedule, with the rules that it breaks under "faults".
The schedules are those of every family, and of `rondo search`, for problems of
2 to 8 ranks and up to 16 micro-batches; both must call them legal. Each is
changed in one way. Prints each verdict that differs, legal or not, by the first
rule that is broken or in times and peaks, and a row for each kind of change. Exit
code 1 if any differs. The same seed gives the same files.
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

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("rondo")
parser.add_argument("checker")
parser.add_argument("--count", type=int, default=10000, metavar="N", help="of changed schedules")
parser.add_argument("--problems", type=int, default=60, metavar="N")
parser.add_argument("--seed", type=int, default=1, metavar="N")
parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where to leave problems and schedules")
options = parser.parse_args()


FIGURES = ("makespan_ns", "span_ns", "peak_memory_bytes")


def random_link(rng):
    return {"latency_ns": rng.choice([0, 1, 5, 40]), "bytes_per_us": rng.choice([None, 500, 1000, 7000])}


def random_problem(rng, number):
    ranks = rng.randint(2, 8)
    row = list(range(ranks))
    rank_of = rng.choice([row, row, row * rng.choice([2, 3]), row + row[::-1], row + row[::-1]])
    # Some families need equal stages, and micro-batches in rounds.
    same = rng.random() < 0.3
    stages = []
    for rank in rank_of:
        activation = rng.randint(2, 9)
        stages.append({"rank": rank, "forward_ns": rng.randint(1, 20), "input_grad_ns": rng.randint(1, 20),
                       "weight_grad_ns": rng.randint(1, 20), "activation_bytes": activation,
                       "input_grad_frees_bytes": rng.randint(0, activation), "output_bytes": rng.choice([0, 1, 3, 10])})
        if same:
            stages[-1] = dict(stages[0], rank=rank)
    problem = {"format": "rondo-problem/1", "name": f"p{number}", "microbatches": rng.choice([1, 2, 3]) * ranks
               if rng.random() < 0.6 and ranks < 6 else rng.randint(1, 16),
               "ranks": [{"memory_bytes": None} for _ in range(ranks)], "stages": stages,
               "objective": rng.choice(["makespan", "span"])}
    if rng.random() < 0.8:
        problem["link"] = random_link(rng)
    if rng.random() < 0.4:
        pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
        problem["links"] = [{"from": a, "to": b, **random_link(rng)} for a, b in rng.sample(pairs, min(4, len(pairs)))]
    return problem


def parts(action):
    """Stage, letter and micro-batch."""
    at = next(i for i, letter in enumerate(action) if letter in "FIWB")
    return int(action[:at]), action[at], int(action[at + 1:])


def messages(problem, schedule):
    """The messages of each link, in the order in which its sender ends them."""
    stages, carried = problem["stages"], {}
    for rank, order in enumerate(schedule["ranks"]):
        for action in order:
            stage, letter, _ = parts(action)
            to = stage + (1 if letter == "F" else -1)
            if letter != "W" and 0 <= to < len(stages) and stages[to]["rank"] != rank:
                carried.setdefault(f"{rank}>{stages[to]['rank']}", []).append(action)
    return carried


def any_order(rng, schedule):
    return rng.choice([order for order in schedule["ranks"] if order])


# Each changes a problem of its own and a schedule. Those that cannot, return False.


def moved(rng, _, schedule):
    order = any_order(rng, schedule)
    order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))


def moved_a_little(rng, _, schedule):
    order = any_order(rng, schedule)
    at = rng.randrange(len(order))
    order.insert(max(0, at + rng.choice([-3, -2, -1, 1, 2, 3])), order.pop(at))


def swapped(rng, _, schedule):
    order = any_order(rng, schedule)
    a, b = rng.randrange(len(order)), rng.randrange(len(order))
    order[a], order[b] = order[b], order[a]


def neighbours(rng, _, schedule):
    order = any_order(rng, schedule)
    a = rng.randrange(len(order) - 1)
    order[a], order[a + 1] = order[a + 1], order[a]


def turned(rng, _, schedule):
    order = any_order(rng, schedule)
    a, b = sorted(rng.sample(range(len(order) + 1), 2))
    order[a:b] = order[a:b][::-1]


def dropped(rng, _, schedule):
    order = any_order(rng, schedule)
    order.pop(rng.randrange(len(order)))


def doubled(rng, _, schedule):
    order = any_order(rng, schedule)
    order.insert(rng.randrange(len(order) + 1), rng.choice(order))


def wrong_rank(rng, _, schedule):
    order, to = any_order(rng, schedule), rng.choice(schedule["ranks"])
    to.insert(rng.randrange(len(to) + 1), order.pop(rng.randrange(len(order))))
    return to is not order


def wrong_letter(rng, _, schedule):
    order = any_order(rng, schedule)
    at = rng.randrange(len(order))
    stage, letter, number = parts(order[at])
    order[at] = f"{stage}{rng.choice('FIWB'.replace(letter, ''))}{number}"


def wrong_number(rng, problem, schedule):
    """Of another stage or micro-batch, which may not exist."""
    order = any_order(rng, schedule)
    at = rng.randrange(len(order))
    stage, letter, number = parts(order[at])
    if rng.random() < 0.5:
        stage = rng.choice([stage + 1, stage - 1 if stage else 1, len(problem["stages"]), 2**31])
    else:
        number = rng.choice([number + 1, number - 1 if number else 1, problem["microbatches"], 2**31])
    order[at] = f"{stage}{letter}{number}"


def split(rng, _, schedule):
    """B becomes I and W, or these B."""
    order = any_order(rng, schedule)
    at = rng.randrange(len(order))
    stage, letter, number = parts(order[at])
    if letter == "B":
        order[at:at + 1] = [f"{stage}I{number}", f"{stage}W{number}"]
        if rng.random() < 0.5:
            order.insert(rng.randrange(at, len(order)), order.pop(at + 1))
    elif letter in "IW":
        order[at] = f"{stage}B{number}"
        order.remove(f"{stage}{'W' if letter == 'I' else 'I'}{number}")
    return letter != "F"


def both_backwards(rng, _, schedule):
    order = any_order(rng, schedule)
    stage, letter, number = parts(rng.choice(order))
    more = rng.choice("IW") if letter == "B" else "B"
    order.insert(rng.randrange(len(order) + 1), f"{stage}{more}{number}")
    return letter != "F"


def other_microbatch(rng, problem, schedule):
    """A stage takes two micro-batches in each other's place: a stage's Fs alone, or all of it."""
    stage, (a, b) = rng.randrange(len(problem["stages"])), [rng.randrange(problem["microbatches"]) for _ in "ab"]
    letters = rng.choice(["F", "IWB", "FIWB"])
    for order in schedule["ranks"]:
        for at, action in enumerate(order):
            of, letter, number = parts(action)
            if of == stage and letter in letters and number in (a, b):
                order[at] = f"{stage}{letter}{a + b - number}"
    return a != b


def lists(rng, _, schedule):
    ranks = schedule["ranks"]
    how = rng.randrange(3)
    if how == 0:
        a, b = rng.sample(range(len(ranks)), 2)
        ranks[a], ranks[b] = ranks[b], ranks[a]
    elif how == 1:
        ranks.insert(rng.randrange(len(ranks) + 1), [])
    else:
        ranks.pop(rng.randrange(len(ranks)))


def wrong_times(rng, _, schedule):
    key = rng.choice(["makespan_ns", "span_ns"])
    schedule[key] = max(0, schedule[key] + rng.choice([-1, 1, 1000]))


def wrong_memory(rng, _, schedule):
    peaks = schedule["peak_memory_bytes"]
    if rng.random() < 0.7:
        peaks[rng.randrange(len(peaks))] += rng.choice([-1, 1])
    else:
        peaks.append(0)


def bound(rng, _, schedule):
    schedule["objective"] = rng.choice(["makespan", "span"])
    reached = schedule[schedule["objective"] + "_ns"]
    schedule["lower_bound_ns"] = max(0, reached + rng.choice([-1, 0, 1]))
    schedule["proven_optimal"] = rng.random() < 0.7


def figures_of_before(rng, problem, schedule):
    """The order is another one; the figures are not."""
    schedule["figures"] = {key: schedule[key] for key in FIGURES}
    return neighbours(rng, problem, schedule)


def link_order(rng, problem, schedule):
    """The right one."""
    carried = messages(problem, schedule)
    if not carried:
        return False
    schedule["link_order"] = {link: carried[link] for link in rng.sample(sorted(carried), rng.randint(1, len(carried)))}
    return True


def messages_out_of_order(rng, problem, schedule):
    if not link_order(rng, problem, schedule):
        return False
    order = rng.choice(list(schedule["link_order"].values()))
    a, b = rng.randrange(len(order)), rng.randrange(len(order))
    order[a], order[b] = order[b], order[a]
    return a != b


def wrong_messages(rng, problem, schedule):
    if not link_order(rng, problem, schedule):
        return False
    orders = schedule["link_order"]
    link = rng.choice(sorted(orders))
    how = rng.randrange(5)
    if how == 0:
        orders[link].pop(rng.randrange(len(orders[link])))
    elif how == 1:
        orders[link].insert(rng.randrange(len(orders[link]) + 1), rng.choice(orders[link]))
    elif how == 2:
        orders[link].append(rng.choice(any_order(rng, schedule)))
    elif how == 3:
        orders["%d>%d" % (rng.randrange(9), rng.randrange(9))] = orders.pop(link)
    else:
        orders[link] = []
    return True


def cap(rng, problem, schedule):
    """The caps are the peaks, but for one rank, where it may be less."""
    peaks = schedule["peak_memory_bytes"]
    problem["ranks"] = [{"memory_bytes": rng.choice([peak, None])} for peak in peaks]
    problem["ranks"][rng.randrange(len(peaks))]["memory_bytes"] = max(0, rng.choice(peaks) - rng.choice([0, 1, 1, 2, 5]))
    problem["name"] += f" with caps {rng.getrandbits(40)}"
    schedule["problem"] = problem["name"]


def slower(rng, problem, schedule):
    """The same order and figures, but times of the problem that may matter."""
    what = rng.choice(problem["stages"] + problem.get("links", []) + [problem.setdefault("link", random_link(rng))])
    key = rng.choice([key for key in what if key.endswith("_ns")])
    what[key] += rng.choice([1, 5])
    problem["name"] += f" and slower {rng.getrandbits(40)}"
    schedule["problem"] = problem["name"]


MUTATIONS = [moved, moved_a_little, swapped, neighbours, turned, dropped, doubled, wrong_rank, wrong_letter, wrong_number,
             split, both_backwards, other_microbatch, lists, wrong_times, wrong_memory, bound, figures_of_before,
             link_order, messages_out_of_order, wrong_messages, cap, slower]
# Elsewhere the figures of the sound schedule are left out: another one has others.
KEEP_FIGURES = {wrong_times, wrong_memory, bound, figures_of_before, cap, slower}


def mutant(rng, problems, sound, mutate):
    """A changed schedule, and its problem."""
    while True:
        schedule = copy.deepcopy(rng.choice(sound))
        problem = copy.deepcopy(problems[schedule["problem"]])
        if mutate(rng, problem, schedule) is False:
            continue
        figures = schedule.pop("figures", None)
        if mutate not in KEEP_FIGURES:
            for key in FIGURES:
                schedule.pop(key)
        elif figures:
            schedule.update(figures)
        return problem, schedule


def write(path, values):
    with open(path, "w") as file:
        for value in values:
            print(json.dumps(value), file=file)


def lines(command, codes=(0,)):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def verdicts(problems, schedules):
    """From both checkers: the first rule that each schedule breaks, or None, and the text about it."""
    ours = lines([options.rondo, "verify", "--problems", problems, "--schedules", schedules, "--json"], (0, 1))
    theirs = lines([sys.executable, options.checker, problems, schedules, "--json"], (0, 1))[:-1]
    if [our["problem"] for our in ours] != [their["problem"] for their in theirs]:
        sys.exit(f"{len(ours)} verdicts of rondo and {len(theirs)} of the checker are of different schedules")
    if any(our["legal"] != (our["rule"] is None) for our in ours):
        sys.exit("a legal schedule breaks a rule")
    return ([our["rule"] for our in ours],
            [their["faults"][0]["rule"] if their["faults"] else None for their in theirs], theirs)


def sound_schedules(folder, problems):
    """The schedules of all families and of the search."""
    path, base = folder / "problems.jsonl", folder / "sound.jsonl"
    write(path, problems)
    schedules = lines([options.rondo, "simulate", path, "--family", "all", "--json"])
    for schedule in lines([options.rondo, "search", "--problems", path, "--effort", "5", "--seed", options.seed]):
        # The bound is a claim of its own, which has a mutation.
        for key in ("lower_bound_ns", "proven_optimal", "bound", "provenance", "search"):
            schedule.pop(key, None)
        schedules.append(dict(schedule, family="search"))
    write(base, schedules)
    ours, theirs, _ = verdicts(path, base)
    for schedule, *rules in zip(schedules, ours, theirs):
        if rules != [None, None]:
            sys.exit(f"not sound: rondo says {rules[0]}, the checker {rules[1]}: {json.dumps(schedule)}")
    return schedules


def main(folder):
    rng = random.Random(options.seed)
    problems = [random_problem(rng, number) for number in range(options.problems)]
    sound = sound_schedules(folder, problems)
    by_family = collections.defaultdict(list)
    for schedule in sound:
        by_family[schedule["family"]].append(schedule)
    print(f"{len(sound)} sound schedules of {len(by_family)} families, {options.problems} problems", flush=True)
    named = {problem["name"]: problem for problem in problems}
    used, schedules, kinds = dict(named), [], []
    for number in range(options.count):
        mutate = MUTATIONS[number % len(MUTATIONS)]
        family = rng.choice(sorted(by_family))
        problem, schedule = mutant(rng, named, by_family[family], mutate)
        used.setdefault(problem["name"], problem)
        schedules.append(schedule)
        kinds.append(mutate.__name__.replace("_", " "))
    stated, changed, legal_ones = (folder / name for name in ("stated.jsonl", "changed.jsonl", "legal.jsonl"))
    write(stated, used.values())
    write(changed, schedules)
    ours, theirs, reports = verdicts(stated, changed)
    table, differences = collections.defaultdict(collections.Counter), collections.Counter()
    for kind, schedule, our, their in zip(kinds, schedules, ours, theirs):
        table[kind][our or "legal"] += 1
        differences[kind] += our != their
        if our != their:
            print(f"differs: {kind}: rondo says {our}, the checker {their}: {json.dumps(schedule)}")
    for kind, rules in table.items():
        said = ", ".join(f"{rule} {number}" for rule, number in rules.most_common())
        print(f"{kind:<22} {sum(rules.values()):>5}, {differences[kind]} differ: {said}")
    # Rondo compares the checker's times and peaks with its own.
    legal = [dict(schedule, **{key: report[key] for key in FIGURES})
             for schedule, our, report in zip(schedules, ours, reports) if our is None and not report["faults"]]
    write(legal_ones, legal)
    judged, _, _ = verdicts(stated, legal_ones)
    for schedule, rule in zip(legal, judged):
        if rule:
            print(f"differs: figures: rondo says {rule}: {json.dumps(schedule)}")
    wrong = sum(differences.values()) + sum(rule is not None for rule in judged)
    print(f"{len(schedules)} changed schedules, {len(legal)} legal with the same figures by both, {wrong} verdicts differ")
    return 1 if wrong else 0


if options.keep:
    options.keep.mkdir(parents=True, exist_ok=True)
    sys.exit(main(options.keep))
with tempfile.TemporaryDirectory() as scratch:
    sys.exit(main(pathlib.Path(scratch)))
