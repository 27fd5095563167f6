#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `rondo export --help` says that each kind needs is what exporting asks for.

    check-needs.py PLAN SCHEDULE

PLAN is a .mlir file with one schedule and the layers of a transformer: all is
known. SCHEDULE is the same as rondo-schedule: neither times nor layers are.
"""

import re
import subprocess
import sys


def rondo(*words):
    return subprocess.run(["rondo", *words], capture_output=True, text=True, check=False)


plan, schedule = sys.argv[1:]
table = rondo("export", "--help").stdout.partition("\nkinds, ")[2].partition("\n\n")[0]
kinds = {}
for row in table.splitlines()[1:]:
    name, needs = re.match(r"  ([\w-]+) +(\w+(?:, \w+)*)  ", row).groups()
    kinds[name] = set(needs.split(", "))
for name, needs in kinds.items():
    if rondo("export", name, plan).returncode != 0:
        sys.exit(f"{name}: not even a plan is enough")
    done = rondo("export", name, schedule)
    if ("layers" in needs) != (done.returncode == 1 and "layers" in done.stderr):
        sys.exit(f"{name} needs {needs}: {done.stderr}")
    # Without times a note names the assumed ones.
    if ("times" in needs) != ("F, I and W of 1 ns" in done.stderr):
        sys.exit(f"{name} needs {needs}: {done.stderr}")
print(len(kinds), "kinds:", " ".join(sorted(set.union(*kinds.values()))))
