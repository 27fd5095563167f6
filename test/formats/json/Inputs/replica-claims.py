# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares times and memory of stages with several replicas, some of which recompute, with a model of its own.

    replica-claims.py SEED COUNT FOLDER

Draws problems whose stages share the samples in unequal parts over one to three
ranks, or assign whole micro-batches to them, and random orders that run; computes from docs/formats.md alone how long
they take and what they hold, and lets `rondo verify` judge these figures, some
of them wrong by one. Prints the number of each verdict; exits with 1 at the
first that is not as expected.
"""

import collections
import json
import os
import random
import subprocess
import sys


def draw_problem(rng, name):
    samples = rng.choice([1, 2, 4, 6, 12])
    ranks = rng.randint(1, 5)
    stages = []
    for _ in range(rng.randint(1, 4)):
        count = min(rng.choice([1, 1, 2, 3]), ranks, samples)
        cuts = sorted(rng.sample(range(1, samples), count - 1))
        shares = [b - a for a, b in zip([0] + cuts, cuts + [samples])]
        replicas = [{"rank": r, "samples": s} for r, s in zip(rng.sample(range(ranks), count), shares)]
        round_robin = count > 1 and rng.random() < 0.4
        if round_robin:
            replicas = [{"rank": replica["rank"]} for replica in replicas]
        takes = samples * rng.randint(0, 4)
        costs = {"F": {"ns": rng.randint(0, 30), "takes_bytes": takes}}
        held = takes
        if rng.random() < 0.3:
            again = samples * rng.randint(0, 4)
            frees = samples * rng.randint(0, (held + again) // samples)
            costs["R"] = {"ns": rng.randint(0, 30), "takes_bytes": again, "frees_bytes": frees}
            held += again - frees
        kept = samples * rng.choice([0, 0, rng.randint(1, 4)])
        frees = samples * rng.randint(0, (held + kept) // samples)
        costs["I"] = {"ns": rng.randint(0, 30), "takes_bytes": kept, "frees_bytes": frees}
        costs["W"] = {"ns": rng.randint(0, 30), "frees_bytes": held + kept - frees}
        if rng.random() < 0.3:
            kept = samples * rng.choice([0, 0, rng.randint(1, 4)])
            costs["B"] = {"ns": rng.randint(0, 40), "takes_bytes": kept, "frees_bytes": held + kept}
        stages.append({"replicas": replicas, "costs": costs})
        if round_robin:
            stages[-1]["split"] = "round_robin"
    edges = []
    for to in range(1, len(stages)):
        for start in range(to):
            if start == to - 1 or rng.random() < 0.3:
                edges.append({"from": start, "to": to, "bytes": rng.randint(0, 40), "gradient_bytes": rng.randint(0, 40)})
    most = max(len(stage["replicas"]) for stage in stages if "split" in stage) if any(
        "split" in stage for stage in stages) else 1
    return {"format": "rondo-problem/2", "name": name, "microbatches": rng.randint(most, 5), "samples": samples,
            "ranks": [{}] * ranks, "stages": stages, "edges": edges,
            "link": {"latency_ns": rng.randint(0, 9), "bytes_per_us": rng.choice([None, 300, 1000])}}


class Model:
    """A problem by its replicas, numbered through all stages."""

    def __init__(self, problem):
        self.problem = problem
        self.samples = problem["samples"]
        self.replicas = []
        for s, stage in enumerate(problem["stages"]):
            first = 0
            for turn, replica in enumerate(stage["replicas"]):
                if "split" in stage:
                    self.replicas.append((s, replica["rank"], 0, self.samples, turn, len(stage["replicas"])))
                    continue
                self.replicas.append((s, replica["rank"], first, first + replica["samples"], 0, 1))
                first += replica["samples"]
        # Key: task's letter and replica. Value: (other replica, bytes), in the order of
        # the edges.
        self.feeds = collections.defaultdict(list)
        self.needs = collections.defaultdict(list)
        for letter, key, start, end in (("F", "bytes", "from", "to"), ("I", "gradient_bytes", "to", "from")):
            for edge in problem["edges"]:
                for a, (sa, _, a0, a1, _, _) in enumerate(self.replicas):
                    for b, (sb, _, b0, b1, _, _) in enumerate(self.replicas):
                        first, last = max(a0, b0), min(a1, b1)
                        if (sa, sb) == (edge[start], edge[end]) and first < last:
                            size = edge[key] * last // self.samples - edge[key] * first // self.samples
                            self.feeds[letter, a].append((b, size))
                            self.needs[letter, b].append(a)

    def takes(self, replica, index):
        return index % self.replicas[replica][5] == self.replicas[replica][4]

    def writes_to_itself(self):
        """A rank that would need a message to itself."""
        return any(self.replicas[a][1] == self.replicas[b][1] and self.replicas[a][2:] != self.replicas[b][2:]
                   and any(self.takes(a, i) and self.takes(b, i) for i in range(60))
                   for (_, a), list_ in self.feeds.items() for b, _ in list_)

    def cost(self, replica, letter):
        costs = self.problem["stages"][self.replicas[replica][0]]["costs"]
        if letter == "B" and "B" not in costs:
            return self.cost_of_sum(replica)
        share = self.replicas[replica][3] - self.replicas[replica][2]
        cost = costs[letter]
        return (-(-cost["ns"] * share // self.samples), cost.get("takes_bytes", 0) * share // self.samples,
                cost.get("frees_bytes", 0) * share // self.samples)

    def cost_of_sum(self, replica):
        costs = self.problem["stages"][self.replicas[replica][0]]["costs"]
        share = self.replicas[replica][3] - self.replicas[replica][2]
        return (-(-(costs["I"]["ns"] + costs["W"]["ns"]) * share // self.samples),
                costs["I"]["takes_bytes"] * share // self.samples,
                (costs["I"]["frees_bytes"] + costs["W"]["frees_bytes"]) * share // self.samples)

    def recomputes(self, replica):
        return "R" in self.problem["stages"][self.replicas[replica][0]]["costs"]

    def draw_orders(self, rng):
        """Random orders that run to their end."""
        left = {(h, i): ["F"] + ["R"] * self.recomputes(h) + rng.choice([["B"], ["I", "W"]])
                for h in range(len(self.replicas)) for i in range(self.problem["microbatches"]) if self.takes(h, i)}
        done = set()
        orders = [[] for _ in self.problem["ranks"]]
        while left:
            ready = []
            for (replica, index), tasks in left.items():
                letter = "I" if tasks[0] == "B" else tasks[0]
                if letter in "WR" or all((letter, a, index) in done or not self.takes(a, index)
                                           for a in self.needs[letter, replica]):
                    ready.append((replica, index))
            replica, index = rng.choice(ready)
            task = left[replica, index].pop(0)
            done.add(("I" if task == "B" else task, replica, index))
            orders[self.replicas[replica][1]].append((replica, task, index))
            if not left[replica, index]:
                del left[replica, index]
        return orders

    def run(self, orders):
        """Makespan, span and peaks of orders that run to their end."""
        link = self.problem["link"]
        clocks, firsts, peaks, held = ([0] * len(orders) for _ in range(4))
        places = [0] * len(orders)
        arrivals, free = {}, collections.Counter()
        moved = True
        while moved:
            moved = False
            for r, order in enumerate(orders):
                while places[r] < len(order):
                    replica, task, index = order[places[r]]
                    letter = "I" if task == "B" else task
                    needed = [(letter, a, replica, index) for a in self.needs[letter, replica] if self.takes(a, index)]
                    if any(message not in arrivals for message in needed):
                        break
                    ns, takes, frees = self.cost(replica, task)
                    start = max([clocks[r]] + [arrivals[message] for message in needed])
                    if places[r] == 0:
                        firsts[r] = start
                    clocks[r] = start + ns
                    held[r] += takes
                    peaks[r] = max(peaks[r], held[r])
                    held[r] -= frees
                    for other, size in self.feeds[letter, replica]:
                        if not self.takes(other, index):
                            continue
                        to = self.replicas[other][1]
                        arrival = clocks[r]
                        if to != r:
                            rate = link["bytes_per_us"]
                            free[r, to] = max(free[r, to], arrival) + (-(-1000 * size // rate) if rate else 0)
                            arrival = free[r, to] + link["latency_ns"]
                        arrivals[letter, replica, other, index] = arrival
                    places[r] += 1
                    moved = True
        assert all(place == len(order) for place, order in zip(places, orders))
        return max(clocks), max(end - start for start, end in zip(firsts, clocks)), peaks


def main():
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    problems, schedules = os.path.join(folder, "problems.jsonl"), os.path.join(folder, "schedules.jsonl")
    expected = []
    with open(problems, "w") as problem_file, open(schedules, "w") as schedule_file:
        while len(expected) < count:
            problem = draw_problem(rng, f"p{len(expected)}")
            model = Model(problem)
            if model.writes_to_itself():
                continue
            orders = model.draw_orders(rng)
            makespan, span, peaks = model.run(orders)
            wrong = rng.random() < 0.3
            if wrong:
                which = rng.randrange(3)
                makespan, span = makespan + (which == 0), span + (which == 1)
                peaks[rng.randrange(len(peaks))] += which == 2
            expected.append("claim" if wrong else None)
            print(json.dumps(problem), file=problem_file)
            print(json.dumps({
                "format": "rondo-schedule/2", "problem": problem["name"],
                "ranks": [[f"{model.replicas[replica][0]}{task}{index}" for replica, task, index in order] for order in orders],
                "makespan_ns": makespan, "span_ns": span, "peak_memory_bytes": peaks}), file=schedule_file)
    done = subprocess.run(["rondo", "verify", "--problems", problems, "--schedules", schedules, "--json"],
                          capture_output=True, text=True, check=False)
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    if len(verdicts) != count:
        sys.exit(f"{len(verdicts)} verdicts of {count}: {done.stderr}")
    for verdict, rule in zip(verdicts, expected):
        if verdict["rule"] != rule:
            sys.exit(f"expected {rule}: {verdict}")
    print(f"{expected.count(None)} legal, {expected.count('claim')} claims refuted")


if __name__ == "__main__":
    main()
