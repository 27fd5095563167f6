# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the bounds of found schedules that are at most the best known objective.

    bounds_hold.py OPTIMA.json FOUND.jsonl
"""

import json
import sys

optima = json.load(open(sys.argv[1]))
holds = wrong = 0
for line in open(sys.argv[2]):
    found = json.loads(line)
    best = optima[found["problem"]].get("best_ns")
    if "infeasible" in found or best is None:
        continue
    isWrong = found["lower_bound_ns"] > best or (found["proven_optimal"] and found["makespan_ns"] > best)
    wrong += isWrong
    holds += not isWrong
    if isWrong:
        print(f"{found['problem']}: bound {found['lower_bound_ns']}, but {best} is known")
print(f"{holds} bounds hold, {wrong} do not")
