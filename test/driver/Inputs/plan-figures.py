# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares plans with figures of other planners and with exhaustive optima.

plan-figures.py ORACLE EVALUATOR PLANS PROBLEMS

A plan must not take longer than the optimum of its problem, nor than any peer's that fits memory; where an optimum is
known, the lower bound must not be above it.
"""

import json
import sys

times = {"1f1b": "t_1f1b", "spp": "t_pe", "spp-full-duplex": "t_pefd"}
letters = {"1f1b": "1f1b", "spp": "pe", "spp-full-duplex": "pefd"}


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
        optima = [
            known[name][key]
            for name in (f"opt_{letters[evaluator]}", f"opt_{letters[evaluator]}_subset")
            if name in known
        ]
        peers = [
            figures[key]
            for name, figures in known.items()
            if name != "rdo_order"
            and not name.startswith(("opt_", "best_"))
            and (cap == 0 or figures["mem_1f1b"] <= cap)
        ]
        least = min(optima + peers)
        if plan["time_ns"] > least or (optima and plan["lower_bound_ns"] > min(optima)):
            print(plan["problem"], plan["time_ns"], plan["lower_bound_ns"], "known:", least)
            wrong += 1
    print(f"{len(plans)} plans, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
