# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares searched schedules with known optima.

    optima.py OPTIMA SCHEDULES LEAST_SHARE MOST_GAP

Fails if a bound is above a known schedule, a proof is false, fewer than
LEAST_SHARE of the known optima are reached, or a makespan is more than MOST_GAP
percent above a known optimum.
"""

import json
import sys

optima = json.load(open(sys.argv[1]))
least_share, most_gap = map(float, sys.argv[3:])
above = false_proofs = met = known = 0
worst = 0.0
for line in open(sys.argv[2]):
    schedule = json.loads(line)
    best = optima[schedule["problem"]]["best_ns"]
    makespan = schedule["makespan_ns"]
    above += schedule["lower_bound_ns"] > best
    false_proofs += schedule["proven_optimal"] and makespan > best
    if optima[schedule["problem"]]["proven"]:
        known += 1
        met += makespan == best
        worst = max(worst, 100 * (makespan / best - 1))
print(f"bounds above a known schedule: {above}, false proofs: {false_proofs}")
print(f"optima met: {met} of {known}, worst gap: {worst:.2f} %")
if above or false_proofs or met < least_share * known or worst > most_gap:
    sys.exit("not as good as it has to be")
