# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares plans with figures of other planners and with exhaustive optima.

plan-figures.py ORACLE EVALUATOR PLANS PROBLEMS
plan-figures.py ORACLE tight PLANS PROBLEMS

A plan must not take longer than the optimum of its problem, nor than any peer's that fits memory; where an optimum is
known, the lower bound must not be above it. `tight`: under 1f1b, with the memory of `memory_bytes_tight`.
"""

import json
import sys

times = {"1f1b": "t_1f1b", "spp": "t_pe", "spp-full-duplex": "t_pefd", "tight": "t_1f1b"}
optima_of = {
    "1f1b": ["opt_1f1b", "opt_1f1b_subset"],
    "spp": ["opt_pe", "opt_pe_subset"],
    "spp-full-duplex": ["opt_pefd", "opt_pefd_subset"],
    "tight": ["opt_1f1b_tight"],
}


def main(oracle_path, evaluator, plans_path, problems_path):
    with open(oracle_path) as file:
        oracle = json.load(file)
    with open(problems_path) as file:
        caps = {p["name"]: p["devices"]["memory_bytes"] for p in map(json.loads, file)}
    with open(plans_path) as file:
        plans = list(map(json.loads, file))
    key, wrong = times[evaluator], 0
    for plan in plans:
        known, cap = oracle[plan["problem"]], caps[plan["problem"]]
        optima = [known[name][key] for name in optima_of[evaluator] if name in known]
        peers = [
            figures[key]
            for name, figures in known.items()
            if name != "rdo_order"
            and not name.startswith(("opt_", "best_"))
            and (cap == 0 or figures["mem_1f1b"] <= cap)
        ]
        least = min(optima + peers)
        # Not all optima under tight memory leave devices idle.
        is_wrong = plan["time_ns"] > least
        if evaluator != "tight" and optima:
            is_wrong |= plan["lower_bound_ns"] > min(optima)
        if is_wrong:
            print(plan["problem"], plan["time_ns"], plan["lower_bound_ns"], "known:", least)
            wrong += 1
    print(f"{len(plans)} plans, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
