"""Compares searched schedules with known optima: optima.py OPTIMA SCHEDULES."""

import json
import sys

optima = json.load(open(sys.argv[1]))
above = false_proofs = met = proven = 0
worst = 0.0
for line in open(sys.argv[2]):
    schedule = json.loads(line)
    known = optima[schedule["problem"]]
    makespan = schedule["makespan_ns"]
    above += schedule["lower_bound_ns"] > known["best_ns"]
    false_proofs += schedule["proven_optimal"] and makespan > known["best_ns"]
    if known["proven"]:
        proven += 1
        met += makespan == known["best_ns"]
        worst = max(worst, 100 * (makespan / known["best_ns"] - 1))
print("bounds above a known schedule:", above)
print("false proofs:", false_proofs)
print("share of optima met: %.4f" % (met / proven))
print("worst gap in percent: %.2f" % worst)
