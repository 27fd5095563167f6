# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a search claims of small problems with recomputation with all of their orders.

    recompute-optimum.py SEED COUNT FOLDER

Each problem has two stages on two ranks and two micro-batches, so that all
orders of both ranks can be run. A schedule must be one of them, no lower bound
may be above the best of them, and a proven optimum must be the best. Prints how
often the search was right and how often it met the optimum; exits with 1 at the
first claim that is wrong.
"""

import itertools
import json
import os
import random
import subprocess
import sys

MICROBATCHES = 2


def draw_problem(rng, name):
    stages = []
    for rank in range(2):
        kept, again = rng.randint(0, 4), rng.randint(0, 6)
        recomputes = rng.random() < 0.8
        freed = rng.randint(0, kept) if recomputes else 0
        held = kept - freed + again * recomputes
        frees = rng.randint(0, held)
        costs = {"F": {"ns": rng.randint(1, 9), "takes_bytes": kept},
                 "I": {"ns": rng.randint(1, 9), "frees_bytes": frees},
                 "W": {"ns": rng.randint(1, 9), "frees_bytes": held - frees}}
        if recomputes:
            costs["R"] = {"ns": rng.randint(1, 9), "takes_bytes": again, "frees_bytes": freed}
        stages.append({"replicas": [{"rank": rank}], "costs": costs})
    ranks = []
    for stage in stages:
        least = stage["costs"]["F"]["takes_bytes"] + stage["costs"].get("R", {}).get("takes_bytes", 0)
        ranks.append({"memory_bytes": least + rng.choice([0, 1, 2, 4, 100])})
    return {"format": "rondo-problem/2", "name": name, "microbatches": MICROBATCHES, "ranks": ranks, "stages": stages,
            "edges": [{"from": 0, "to": 1, "bytes": 0}], "link": {"latency_ns": rng.choice([0, 2]), "bytes_per_us": None}}


def orders_of(costs, cap):
    """All orders of a rank that keep its cap, as lists of (letter, micro-batch)."""
    chains = [["F"] + ["R"] * ("R" in costs) + ["I", "W"] for _ in range(MICROBATCHES)]
    orders = []

    def extend(order, places, held):
        if all(place == len(chain) for place, chain in zip(places, chains)):
            orders.append(list(order))
        for i, chain in enumerate(chains):
            if places[i] == len(chain):
                continue
            cost = costs[chain[places[i]]]
            if held + cost.get("takes_bytes", 0) > cap:
                continue
            order.append((chain[places[i]], i))
            places[i] += 1
            extend(order, places, held + cost.get("takes_bytes", 0) - cost.get("frees_bytes", 0))
            places[i] -= 1
            order.pop()

    extend([], [0] * MICROBATCHES, 0)
    return orders


def makespan(problem, orders):
    """None where the ranks wait for each other."""
    latency = problem["link"]["latency_ns"]
    ends, clocks, places = {}, [0, 0], [0, 0]
    while places != [len(order) for order in orders]:
        for rank in (0, 1):
            if places[rank] == len(orders[rank]):
                continue
            letter, index = orders[rank][places[rank]]
            needed = {(1, "F"): ("F", 0, index), (0, "I"): ("I", 1, index), (0, "B"): ("I", 1, index)}.get((rank, letter))
            if needed and needed not in ends:
                continue
            start = max(clocks[rank], ends[needed] + latency if needed else 0)
            costs = problem["stages"][rank]["costs"]
            clocks[rank] = start + sum(costs[task]["ns"] for task in ("IW" if letter == "B" else letter))
            ends["I" if letter == "B" else letter, rank, index] = clocks[rank]
            places[rank] += 1
            break
        else:
            return None
    return max(clocks)


def main():
    rng = random.Random(int(sys.argv[1]))
    count, folder = int(sys.argv[2]), sys.argv[3]
    os.makedirs(folder, exist_ok=True)
    path, found = os.path.join(folder, "problems.jsonl"), os.path.join(folder, "found.jsonl")
    problems = [draw_problem(rng, f"p{i}") for i in range(count)]
    with open(path, "w") as file:
        for problem in problems:
            print(json.dumps(problem), file=file)
    subprocess.run(["rondo", "search", "--problems", path, "--effort", "200", "-o", found],
                   check=True, stdout=subprocess.DEVNULL)
    met = 0
    with open(found) as file:
        for problem, line in zip(problems, file):
            schedule = json.loads(line)
            all_orders = [orders_of(stage["costs"], rank["memory_bytes"])
                          for stage, rank in zip(problem["stages"], problem["ranks"])]
            times = [makespan(problem, pair) for pair in itertools.product(*all_orders)]
            best = min(time for time in times if time is not None)
            own = [[(action[1], int(action[2:])) for action in order] for order in schedule["ranks"]]
            split = [[(kind, i) for letter, i in order for kind in ("IW" if letter == "B" else letter)] for order in own]
            if makespan(problem, own) != schedule["makespan_ns"] or any(o not in a for o, a in zip(split, all_orders)):
                sys.exit(f"not an order that runs: {line}{problem}")
            if schedule["lower_bound_ns"] > best or (schedule["proven_optimal"] and schedule["makespan_ns"] != best):
                sys.exit(f"the optimum is {best}: {line}{problem}")
            met += schedule["makespan_ns"] == best
    print(f"{count} right, {met} optimal")


if __name__ == "__main__":
    main()
