# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the GPU memory that a program asked for in emulation with its plan.

    gpu-memory.py PROGRAM.cpp OUTPUT RANKS CHANNELS

All ranks are on one GPU, and OUTPUT is what the program printed. In addition to
the planned arenas there is what docs/cuda.md lists for every program: scratch
of the optimizer and a counter for each rank, and the stamps of each channel.
"""

import re
import sys

SCRATCH, COUNTER = 32 * 256 * 8, 8
STAMPS = 2 * (8 + 256 * 16)


def main():
    source, output = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
    ranks, channels = map(int, sys.argv[3:])
    table = re.search(r"arena_bytes\[\] = \{([^}]*)\}", source).group(1)
    planned = sum(int(number) for number in re.findall(r"\d+", table))
    used, arenas = map(int, re.search(r"(\d+) bytes in use, of which its arenas (\d+)", output).groups())
    beside = ranks * (SCRATCH + COUNTER) + channels * STAMPS
    if arenas != planned:
        sys.exit(f"the arenas have {arenas} bytes, their plan {planned}")
    if used != planned + beside:
        sys.exit(f"{used} bytes are in use, {used - planned - beside} more than {planned} planned and {beside} listed")
    print("the memory is that of the plan")


main()
