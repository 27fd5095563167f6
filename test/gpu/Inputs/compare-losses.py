# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the losses of a log with the committed losses of the CPU.

compare-losses.py LOG LOSSES
"""

import json
import sys

committed = dict(line.split() for line in open(sys.argv[2], encoding="utf-8"))
count = 0
for line in open(sys.argv[1], encoding="utf-8"):
    entry = json.loads(line)
    if "loss" not in entry:
        continue
    loss, expected = entry["loss"], float(committed[str(entry["iteration"])])
    # Processors differ in the last bits of their sums. Written so that NaN
    # fails too.
    if not abs(loss / expected - 1) <= 1e-4:
        sys.exit(f"iteration {entry['iteration']}: {loss}, not {expected}")
    count += 1
print(count, "losses are as committed")
