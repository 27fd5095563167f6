# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the losses, or the norms, that two logs have in common.

close-losses.py LOG LOG TOLERANCE [loss | norm]
"""

import json
import sys


figure = sys.argv[4] if len(sys.argv) > 4 else "loss"


def figures_of(path):
    entries = map(json.loads, open(path, encoding="utf-8"))
    return {e["iteration"]: e[figure] for e in entries if figure in e}


first, second = figures_of(sys.argv[1]), figures_of(sys.argv[2])
common = sorted(first.keys() & second.keys())
for iteration in common:
    # Written so that NaN fails too.
    if not abs(second[iteration] / first[iteration] - 1) <= float(sys.argv[3]):
        sys.exit(f"iteration {iteration}: {first[iteration]} and {second[iteration]}")
print(len(common), "losses are close" if figure == "loss" else "norms are close")
