# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `rondo verify` with an independent checker on schedules with copies.

    copies.py CHECKER PROBLEMS SEED COUNT FOLDER [--uneven]

Each schedule is a random order of one of the problems, in which a random part
of the micro-batches is copied to the host; most are then changed in one way.
Two rounds: in the second, legal schedules claim the figures that the checker
computed in the first, right or slightly wrong. With --uneven the micro-batches of
each problem get random sizes, and its costs one of the three forms. Prints how many verdicts of each
rule agree; exits with 1 at the first that differs.
"""

import collections
import json
import os
import random
import subprocess
import sys

MEMORY_RULES = {"memory", "host-memory"}


def bytes_of(problem, costs, kind, key, i):
    cost = costs.get(kind, {})
    if key + "_by_index" in cost:
        return cost[key + "_by_index"][i]
    value = cost.get(key, 0)
    if not isinstance(value, dict):
        return value
    product = sum(factor * size for factor, size in zip(value["per_size"], problem["sizes"][i]))
    return value.get("fixed", 0) + -(-product // value.get("over", 1))


def in_some_form(rng, owner, key, values, affine):
    """States a figure of all micro-batches as a number, a list or by sizes."""
    del owner[key]
    if rng.random() < 0.5:
        owner[key] = affine
    elif len(set(values)) == 1 and rng.random() < 0.5:
        owner[key] = values[0]
    else:
        owner[key + "_by_index"] = values


def make_uneven(rng, problem):
    """Bytes are proportional to the size of a micro-batch; times have a fixed part too."""
    problem = json.loads(json.dumps(problem))
    factors = [rng.randrange(1, 5) for _ in range(problem["microbatches"])]
    problem["sizes"] = [[factor, 7] for factor in factors]
    for stage in problem["stages"]:
        for cost in stage["costs"].values():
            for key, value in list(cost.items()):
                fixed = rng.randrange(4) if key == "ns" else 0
                affine = {"per_size": [2 * value, 0], "over": 2, "fixed": fixed}
                if key != "before":
                    in_some_form(rng, cost, key, [fixed + value * factor for factor in factors], affine)
        last = stage["costs"]["W"]
        if rng.random() < 0.3:
            last.pop("frees_bytes_by_index", None)
            last["frees_bytes"] = "rest"
    for edge in problem["edges"]:
        value = edge["bytes"]
        in_some_form(rng, edge, "bytes", [value * factor for factor in factors], {"per_size": [value, 0]})
    for rank in problem["ranks"]:
        for key in ("memory_bytes", "host_memory_bytes"):
            if rank.get(key) is not None:
                rank[key] *= rng.choice([2, 3, 4])
    return problem


class Order:
    """Grows the lists of all ranks action by action, so that no rank waits for ever."""

    def __init__(self, rng, problem):
        self.rng, self.problem = rng, problem
        self.stages = problem["stages"]
        self.ranks = [stage["homes"][0]["rank"] for stage in self.stages]
        self.inputs = collections.defaultdict(list)
        self.outputs = collections.defaultdict(list)
        for edge in problem["edges"]:
            self.inputs[edge["to"]].append(edge["from"])
            self.outputs[edge["from"]].append(edge["to"])
        self.done = set()
        self.lists = [[] for _ in problem["ranks"]]
        self.sequence = []
        self.held = [0] * len(self.lists)
        self.hosted = [0] * len(self.lists)
        self.pairs = set()
        share = rng.choice([0, 0.3, 0.7, 1])
        for s, stage in enumerate(self.stages):
            for i in range(problem["microbatches"]):
                if "SAVE" in stage["costs"] and rng.random() < share:
                    self.pairs.add((s, i))
        fused = rng.random() < 0.2
        self.fused = {
            (s, i)
            for s in range(len(self.stages))
            for i in range(problem["microbatches"])
            if fused and rng.random() < 0.5
        }

    def before(self, s):
        costs = self.stages[s]["costs"]
        return costs.get("LOAD", {}).get("before", "R" if "R" in costs else "I")

    def needs(self, s, kind, i):
        has = lambda *actions: all(action in self.done for action in actions)
        costs = self.stages[s]["costs"]
        loaded = (s, i) not in self.pairs or (s, "LOAD", i) in self.done
        if kind == "F":
            return all(has((t, "F", i)) for t in self.inputs[s])
        if kind == "SAVE":
            return has((s, "F", i))
        if kind == "LOAD":
            return has((s, "SAVE", i))
        if kind == "R":
            return has((s, "F", i)) and (self.before(s) != "R" or loaded)
        if kind in "IB":
            below = all(has((t, "I", i)) or has((t, "B", i)) for t in self.outputs[s])
            waits = self.before(s) == "I" or kind == "B"
            return below and has((s, "R" if "R" in costs else "F", i)) and (not waits or loaded)
        return has((s, "I", i)) and (self.before(s) != "W" or loaded)

    def kinds(self, s, i):
        yield "F"
        if "R" in self.stages[s]["costs"]:
            yield "R"
        yield from ("B",) if (s, i) in self.fused else ("I", "W")
        if (s, i) in self.pairs:
            yield from ("SAVE", "LOAD")

    def figures(self, s, kind, i):
        """What an action takes and frees on the device and on the host."""
        costs = self.stages[s]["costs"]
        of = lambda kind, key: bytes_of(self.problem, costs, kind, key, i)
        taken = sum(of(taker, "takes_bytes") for taker in ("F", "R"))
        takes = of(kind, "takes_bytes")
        if kind == "B" and "B" not in costs:
            frees = taken - of("R", "frees_bytes")
        elif costs.get(kind, {}).get("frees_bytes") == "rest":
            frees = taken - of("R", "frees_bytes") - of("I", "frees_bytes")
        else:
            frees = of(kind, "frees_bytes")
        return takes, frees, frees * (kind == "SAVE"), takes * (kind == "LOAD")

    def fits(self, s, kind, i):
        rank = self.problem["ranks"][self.ranks[s]]
        takes, _, hosts, _ = self.figures(s, kind, i)
        caps = [(rank.get("memory_bytes"), self.held, takes), (rank.get("host_memory_bytes"), self.hosted, hosts)]
        return all(cap is None or held[self.ranks[s]] + more <= cap for cap, held, more in caps)

    def run(self):
        """Greedy with random choices; ignores the caps once nothing fits."""
        left = [
            (s, kind, i)
            for s in range(len(self.stages))
            for i in range(self.problem["microbatches"])
            for kind in self.kinds(s, i)
        ]
        weights = {kind: self.rng.choice([1, 3, 10]) for kind in ("F", "I", "W", "B", "R", "SAVE", "LOAD")}
        # Mostly in the order of micro-batches: others rarely fit.
        reach = self.rng.choice([1, 1, 2, 99])
        while left:
            ready = [action for action in left if self.needs(*action)]
            fitting = [action for action in ready if self.fits(*action)] or ready
            first = {}
            for action in sorted(fitting, key=lambda each: each[2]):
                first.setdefault(action[:2], []).append(action)
            choices = [action for some in first.values() for action in some[:reach]]
            action = self.rng.choices(choices, [weights[kind] for _, kind, _ in choices])[0]
            self.add(*action)
            left.remove(action)

    def add(self, s, kind, i):
        rank = self.ranks[s]
        takes, frees, hosts, leaves = self.figures(s, kind, i)
        self.held[rank] += takes - frees
        self.hosted[rank] += hosts - leaves
        self.done.add((s, kind, i))
        self.lists[rank].append(f"{s}{kind}{i}")
        self.sequence.append((rank, f"{s}{kind}{i}"))

    def schedule(self):
        self.run()
        result = {"format": "rondo-schedule/2", "problem": self.problem["name"], "ranks": self.lists}
        orders = {}
        for number, link in enumerate(self.problem.get("host_links", [])):
            orders[str(number)] = [
                name for rank, name in self.sequence if rank in link["ranks"] and ("SAVE" in name or "LOAD" in name)
            ]
        if orders and self.rng.random() < 0.5:
            result["copy_order"] = orders
        return result


def is_copy(name):
    return "SAVE" in name or "LOAD" in name


def drop(rng, schedule):
    row = rng.choice(schedule["ranks"])
    places = [n for n, name in enumerate(row) if is_copy(name)] or range(len(row))
    row.pop(rng.choice(list(places)))


def repeat(rng, schedule):
    row = rng.choice(schedule["ranks"])
    name = rng.choice([name for name in row if is_copy(name)] or row)
    row.insert(rng.randrange(len(row) + 1), name)


def elsewhere(rng, schedule):
    row, other = rng.sample(schedule["ranks"], 2)
    places = [n for n, name in enumerate(row) if is_copy(name)] or range(len(row))
    other.insert(rng.randrange(len(other) + 1), row.pop(rng.choice(list(places))))


def move(rng, schedule):
    row = rng.choice(schedule["ranks"])
    places = [n for n, name in enumerate(row) if is_copy(name)] or range(len(row))
    name = row.pop(rng.choice(list(places)))
    row.insert(rng.randrange(len(row) + 1), name)


def swap(rng, schedule):
    row = rng.choice(schedule["ranks"])
    place = rng.randrange(len(row) - 1)
    row[place], row[place + 1] = row[place + 1], row[place]


def reorder(rng, schedule):
    """Changes a copy order; without one, an order of a rank."""
    if not schedule.get("copy_order"):
        return swap(rng, schedule)
    number, names = rng.choice(list(schedule["copy_order"].items()))
    how = rng.randrange(4)
    if how == 0:
        rng.shuffle(names)
    elif how == 1 and names:
        names.pop(rng.randrange(len(names)))
    elif how == 2 and names:
        names.append(rng.choice(names))
    else:
        schedule["copy_order"][str(int(number) + 1)] = []
    return None


CHANGES = [drop, repeat, elsewhere, move, move, swap, swap, reorder, reorder]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or done.stderr:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(checker, problems, schedules, path, seen):
    with open(path, "w") as file:
        for schedule in schedules:
            print(json.dumps(schedule), file=file)
    theirs = run([sys.executable, checker, problems, path, "--json"])[:-1]
    ours = run(["rondo", "verify", "--problems", problems, "--schedules", path, "--json"])
    if not len(ours) == len(theirs) == len(schedules):
        sys.exit(f"{len(schedules)} schedules, but {len(ours)} and {len(theirs)} verdicts")
    for schedule, our, their in zip(schedules, ours, theirs):
        rules = [fault["rule"] for fault in their["faults"]]
        # The checker goes through ranks, rondo through rules.
        agrees = our["rule"] == rules[0] if rules else our["legal"]
        if rules and rules[0] in MEMORY_RULES:
            agrees = our["rule"] in rules or our["rule"] in MEMORY_RULES
        # Without copies, a run may be stuck before it reaches a wrong order.
        if rules == ["dependence"] and not any(is_copy(name) for row in schedule["ranks"] for name in row):
            agrees = our["rule"] in ("dependence", "deadlock")
        if not agrees:
            sys.exit(f"{json.dumps(schedule)}\nrondo: {our}\nchecker: {their}")
        seen[rules[0] if rules else "legal"] += 1
    return theirs


def claims(rng, schedules, reports):
    for schedule, report in zip(schedules, reports):
        if report["faults"]:
            continue
        for key in ("makespan_ns", "span_ns", "peak_memory_bytes", "peak_host_bytes"):
            schedule[key] = report[key]
        if rng.random() < 0.2:
            key = rng.choice(["peak_memory_bytes", "peak_host_bytes"])
            schedule[key][rng.randrange(len(schedule[key]))] += rng.choice([-1, 1])
        elif rng.random() < 0.1:
            schedule[rng.choice(["makespan_ns", "span_ns"])] += rng.choice([-1, 1])
        yield schedule


def main():
    checker, problems, seed, count, folder = sys.argv[1:6]
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(int(seed))
    with open(problems) as file:
        known = [json.loads(line) for line in file]
    if "--uneven" in sys.argv[6:]:
        known = [make_uneven(rng, problem) for problem in known]
        problems = os.path.join(folder, "problems.jsonl")
        with open(problems, "w") as file:
            for problem in known:
                print(json.dumps(problem), file=file)
    # Half of them have host caps or share host links.
    special = [
        problem
        for problem in known
        if "host_links" in problem or any("host_memory_bytes" in rank for rank in problem["ranks"])
    ]
    schedules = []
    for number in range(int(count)):
        those = special if special and number % 2 else known
        schedules.append(Order(rng, those[number // 2 % len(those)]).schedule())
        if rng.random() < 0.6:
            rng.choice(CHANGES)(rng, schedules[-1])
    seen = collections.Counter()
    reports = compare(checker, problems, schedules, os.path.join(folder, "first.jsonl"), seen)
    compare(
        checker, problems, list(claims(rng, schedules, reports)), os.path.join(folder, "second.jsonl"), seen
    )
    print("agreed:", ", ".join(f"{rule} {number}" for rule, number in sorted(seen.items())))


if __name__ == "__main__":
    main()
