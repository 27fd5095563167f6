# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails unless the best plan of the second output of `rondo plan` takes no longer than that of the first, and no less
than its bound: best-of-plans.py FIRST SECOND."""
import re
import sys

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}


def figures(path):
    with open(path, encoding="utf-8") as file:
        found = re.search(r"best: ([0-9.]+) (us|ms|s); no plan takes less than ([0-9.]+) (us|ms|s)", file.read())
    return float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]]


first, second = map(figures, sys.argv[1:])
if second[0] > first[0] or second[1] > second[0]:
    raise SystemExit(f"best and bound in ns: {first} without host links, {second} with them")
