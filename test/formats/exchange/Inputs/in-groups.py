# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a schedule that runs all forwards in groups, and then all backwards.

    in-groups.py SCHEDULE PROBLEM SIZE

The stages are those of the problem, in a loop over its ranks.
"""

import json
import pathlib
import sys

schedule, problem = (json.loads(pathlib.Path(name).read_text()) for name in sys.argv[1:3])
size, ranks = int(sys.argv[3]), len(problem["ranks"])
stages, microbatches = len(problem["stages"]), problem["microbatches"]


def order(kind, chunks):
    for begin in range(0, microbatches, size):
        for stage in chunks:
            for microbatch in range(begin, min(begin + size, microbatches)):
                yield f"{stage}{kind}{microbatch}"


orders = []
for rank in range(ranks):
    chunks = range(rank, stages, ranks)
    orders.append([*order("F", chunks), *order("B", chunks[::-1])])
print(json.dumps({"format": "rondo-schedule/1", "problem": schedule["problem"], "ranks": orders}))
