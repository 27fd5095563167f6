# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the losses that two logs have in common.

close-losses.py LOG LOG TOLERANCE
"""

import json
import sys


def losses_of(path):
    entries = map(json.loads, open(path, encoding="utf-8"))
    return {e["iteration"]: e["loss"] for e in entries if "loss" in e}


first, second = losses_of(sys.argv[1]), losses_of(sys.argv[2])
common = sorted(first.keys() & second.keys())
for iteration in common:
    # Written so that NaN fails too.
    if not abs(second[iteration] / first[iteration] - 1) <= float(sys.argv[3]):
        sys.exit(f"iteration {iteration}: {first[iteration]} and {second[iteration]}")
print(len(common), "losses are close")
