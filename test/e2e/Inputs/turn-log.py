# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that copies were enqueued in the order of their turns.

    turn-log.py COPIES FILE

FILE has what turn-log.cpp wrote. In each direction, turns must be 0 to COPIES - 1 in
each iteration.
"""

import sys

count = int(sys.argv[1])
turns = {"SAVE": [], "LOAD": []}
with open(sys.argv[2], encoding="utf-8") as file:
    lines = [line.split() for line in file if line.startswith("turn ")]
for _, ns, direction, turn in sorted(lines, key=lambda line: int(line[1])):
    turns[direction].append(int(turn))
for direction, taken in turns.items():
    if not taken or taken != [i % count for i in range(len(taken))] or len(taken) % count:
        sys.exit(f"{direction}: {taken}")
    print(f"{direction}: {len(taken) // count} iterations in order")
