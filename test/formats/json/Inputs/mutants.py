# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random problems and schedules, most of them with faults.

    mutants.py SEED COUNT PROBLEMS.jsonl SCHEDULES.jsonl

A base schedule is a random order in which everything comes after what it needs,
split by rank, so that it is complete and runs. Up to three faults are then inserted,
since the order in which rules are checked shows only if several are broken.
The same seed gives the same files.
"""

import json
import random
import sys


def random_problem(rng, name):
    ranks = rng.randint(1, 4)
    placement = rng.choice(["linear", "interleaved", "v", "random"])
    if placement == "linear":
        rank_of = list(range(ranks))
    elif placement == "interleaved":
        rank_of = list(range(ranks)) * 2
    elif placement == "v":
        rank_of = list(range(ranks)) + list(range(ranks))[::-1]
    else:
        rank_of = [rng.randrange(ranks) for _ in range(rng.randint(1, 6))]
    stages = []
    for rank in rank_of:
        activation = rng.choice([0, 1, 2, 2, 3, 8])
        stages.append({
            "rank": rank,
            "forward_ns": rng.choice([0, 1, 1, 2, 3, 7]),
            "input_grad_ns": rng.choice([0, 1, 2, 4]),
            "weight_grad_ns": rng.choice([0, 1, 2, 3]),
            "activation_bytes": activation,
            "input_grad_frees_bytes": rng.randint(0, activation),
            "output_bytes": rng.choice([0, 1, 3, 10]),
        })
    problem = {
        "format": "rondo-problem/1",
        "name": name,
        "microbatches": rng.randint(1, 6),
        "ranks": [{"memory_bytes": rng.choice([None, None, 4, 8, 16])} for _ in range(ranks)],
        "stages": stages,
    }
    if rng.random() < 0.7:
        problem["link"] = random_link(rng)
    if rng.random() < 0.5 and ranks > 1:
        pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
        problem["links"] = [{"from": a, "to": b, **random_link(rng)} for a, b in rng.sample(pairs, rng.randint(1, len(pairs)))]
    if rng.random() < 0.5:
        problem["objective"] = rng.choice(["makespan", "span"])
    return problem


def random_link(rng):
    return {"latency_ns": rng.choice([0, 1, 5]), "bytes_per_us": rng.choice([None, 1, 999, 1000, 10**6])}


def random_schedule(rng, problem):
    """A topological order of all tasks, by rank; sometimes its link orders too."""
    stages, microbatches = problem["stages"], problem["microbatches"]
    last = len(stages) - 1
    fused = {(s, m): rng.random() < rng.choice([0, 0.5, 1]) for s in range(last + 1) for m in range(microbatches)}
    done = set()
    left = [(s, kind, m) for s in range(last + 1) for m in range(microbatches)
            for kind in ("FB" if fused[s, m] else "FIW")]
    eager = rng.random() < 0.6  # backwards first: less memory

    def ready(task):
        s, kind, m = task
        if kind == "F":
            return s == 0 or (s - 1, "F", m) in done
        if kind == "W":
            return (s, "I", m) in done
        return (s, "F", m) in done and (s == last or (s + 1, "I", m) in done)

    ranks = [[] for _ in problem["ranks"]]
    links = {}
    while left:
        choices = [task for task in left if ready(task)]
        if eager:
            choices = [task for task in choices if task[1] != "F"] or [min(choices, key=lambda t: (t[2], t[0]))]
        task = rng.choice(choices)
        left.remove(task)
        s, kind, m = task
        done.add((s, "I" if kind == "B" else kind, m))
        rank = stages[s]["rank"]
        name = f"{s}{kind}{m}"
        ranks[rank].append(name)
        to = s + 1 if kind == "F" else s - 1
        if kind != "W" and 0 <= to <= last and stages[to]["rank"] != rank:
            links.setdefault(f"{rank}>{stages[to]['rank']}", []).append(name)
    schedule = {"format": "rondo-schedule/1", "problem": problem["name"], "ranks": ranks}
    if links and rng.random() < 0.5:
        schedule["link_order"] = {key: links[key] for key in rng.sample(sorted(links), rng.randint(1, len(links)))}
        for order in schedule["link_order"].values():
            if rng.random() < 0.2:
                rng.shuffle(order)
    return schedule


ODD = [None, True, 0, -1, 1.5, 4.0, 10**30, -10**30, "x", "0", [], {}, [4], {"a": 1}]
BAD_ACTIONS = ["", "0", "F", "0F", "F0", "00F0", "0F00", "0F0 ", " 0F0", "0f0", "0X0", "0FF0", "-1F0", "0F-1", "0F0\n",
               "\u0660F0", "0F0\u00e9", 5, None, ["0F0"], {}, True, "0F1e3", "+1F0"]
UNKNOWN_ACTIONS = ["99F0", "0F999", "0B16777216", "0W99999999999999999999", "32768F0", "65536F0", "4294967296I0"]


def any_list(rng, schedule):
    lists = [order for order in schedule.get("ranks", []) if isinstance(order, list)] if isinstance(
        schedule.get("ranks"), list) else []
    orders = schedule.get("link_order")
    if isinstance(orders, dict) and rng.random() < 0.3:
        lists = [order for order in orders.values() if isinstance(order, list)] or lists
    lists = [order for order in lists if order]
    return rng.choice(lists) if lists else None


def drop(rng, s):
    if (order := any_list(rng, s)):
        order.pop(rng.randrange(len(order)))


def twice(rng, s):
    if (order := any_list(rng, s)):
        order.insert(rng.randint(0, len(order)), rng.choice(order))


def swap(rng, s):
    if (order := any_list(rng, s)):
        a, b = rng.randrange(len(order)), rng.randrange(len(order))
        order[a], order[b] = order[b], order[a]


def move(rng, s):
    a, b = any_list(rng, s), any_list(rng, s)
    if a and b:
        b.insert(rng.randint(0, len(b)), a.pop(rng.randrange(len(a))))


def change_kind(rng, s):
    if (order := any_list(rng, s)):
        i = rng.randrange(len(order))
        if isinstance(order[i], str):
            for letter in "FIWB":
                if letter in order[i]:
                    order[i] = order[i].replace(letter, rng.choice("FIWB"))
                    break


def mixture(rng, s):
    if (order := any_list(rng, s)):
        i = rng.randrange(len(order))
        if isinstance(order[i], str) and "B" in order[i]:
            order.insert(i, order[i].replace("B", rng.choice("IW")))
        elif isinstance(order[i], str):
            order.append(order[i].replace("I", "B").replace("W", "B"))


def bad_action(rng, s):
    if (order := any_list(rng, s)):
        order[rng.randrange(len(order))] = rng.choice(BAD_ACTIONS)


def unknown_action(rng, s):
    if (order := any_list(rng, s)):
        order[rng.randrange(len(order))] = rng.choice(UNKNOWN_ACTIONS)


def reverse(rng, s):
    if (order := any_list(rng, s)):
        order.reverse()


def rank_lists(rng, s):
    ranks = s.get("ranks")
    if not isinstance(ranks, list):
        return
    how = rng.randrange(5)
    if how == 0:
        ranks.append([])
    elif how == 1 and ranks:
        ranks.pop()
    elif how == 2 and ranks:
        ranks[rng.randrange(len(ranks))] = rng.choice([None, 3, "0F0", {}])
    elif how == 3:
        s["ranks"] = rng.choice([None, {}, "", 4])
    elif len(ranks) > 1:
        ranks[0], ranks[1] = ranks[1], ranks[0]


def link_names(rng, s):
    orders = s.setdefault("link_order", {})
    how = rng.randrange(4)
    if how == 0:
        s["link_order"] = rng.choice([None, [], "0>1", 1])
    elif isinstance(orders, dict) and how == 1:
        name = rng.choice(["0>0", "0>99", "00>1", "0->1", "0>", "", "0>1 ", "9999999999>0", "0>18446744073709551616"])
        orders[name] = []
    elif isinstance(orders, dict) and how == 2:
        orders[rng.choice(["0>1", "1>0", "0>2", "2>0"])] = rng.choice([[], ["0F0"], ["1B0"], ["0W0"], None, "0F0"])
    elif isinstance(orders, dict) and orders:
        items = list(orders.items())
        rng.shuffle(items)
        s["link_order"] = dict(items)


def claim(rng, s):
    key = rng.choice(["makespan_ns", "span_ns", "peak_memory_bytes"])
    values = ODD + [40, 20, 10, [2], [2, 2], [4, 2]]
    if key in s and isinstance(s[key], int) and not isinstance(s[key], bool) and rng.random() < 0.5:
        values = [s[key] + 1, s[key] - 1, float(s[key]), str(s[key])]
    s[key] = rng.choice(values)


def bound(rng, s):
    reached = s.get("makespan_ns")
    if not isinstance(reached, int):
        reached = 20
    s["lower_bound_ns"] = rng.choice(ODD + [reached, reached - 1, reached + 1, 0])
    if rng.random() < 0.5:
        s["proven_optimal"] = rng.choice([True, True, False, None, 1, "true"])
    if rng.random() < 0.3:
        s["objective"] = rng.choice(["makespan", "span", "time", None, 3, ["span"]])


def keys(rng, s):
    how = rng.randrange(6)
    if how == 0:
        s[rng.choice(["extra", "Format", "", "links", "arena_bytes", "infeasible"])] = rng.choice(ODD)
    elif how == 1:
        s.pop(rng.choice(["format", "problem", "ranks"]), None)
    elif how == 2:
        s["format"] = rng.choice(["rondo-schedule/9", "rondo-problem/1", None, 1])
    elif how == 3:
        s["problem"] = rng.choice(["nobody", None, 3, "", ["p0"]])
    elif how == 4:
        s["search"] = rng.choice([{}, {"seed": 1, "seconds": 0.5}, {"seed": "x", "stopped": None}, {"speed": 1}, [], None, 1])
    else:
        s[rng.choice(["family", "bound", "provenance"])] = rng.choice(ODD)


def overlap(rng, s):
    order = rng.choice(s.get("ranks") if isinstance(s.get("ranks"), list) and s["ranks"] else [[]])
    pairs = list(zip(order, order[1:])) if isinstance(order, list) else []
    named = [list(rng.choice(pairs)) for _ in range(rng.randrange(3))] if pairs else []
    if named and rng.random() < 0.3:
        rng.choice(named).reverse()
    if rng.random() < 0.2:
        named.append(rng.choice(ODD))
    s["overlap"] = named


def infeasible(rng, s):
    s.pop("ranks", None)
    for key in [key for key in s if key not in ("format", "problem")]:
        if rng.random() < 0.95:
            del s[key]
    s["infeasible"] = rng.choice(["rank 0 needs 3 bytes", None, 4])
    if rng.random() < 0.3:
        s["provenance"] = rng.choice(ODD)


FAULTS = [drop, twice, swap, swap, swap, move, change_kind, mixture, bad_action, unknown_action, reverse, rank_lists,
          link_names, link_names, claim, claim, bound, bound, keys, overlap, infeasible]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    problems = [random_problem(rng, f"p{i}") for i in range(max(1, count // 20))]
    with open(sys.argv[3], "w") as file:
        for problem in problems:
            print(json.dumps(problem), file=file)
    with open(sys.argv[4], "w") as file:
        for _ in range(count):
            schedule = random_schedule(rng, rng.choice(problems))
            for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                rng.choice(FAULTS)(rng, schedule)
            if rng.random() < 0.005:
                schedule = rng.choice(ODD)
            print(json.dumps(schedule, ensure_ascii=rng.random() < 0.5), file=file)


if __name__ == "__main__":
    main()
