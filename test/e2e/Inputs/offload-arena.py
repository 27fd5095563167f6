# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the arenas of two lowered programs of one plan.

    offload-arena.py PLAIN COPIED

Prints the largest arena of each pipeline, and by how much the second is smaller;
exits with 1 if a copied program has no host arena or the plain one has one.
"""

import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    line = next(each for each in text.splitlines() if " pipeline arena" in each)
    arena = [int(n) for n in re.search(r" arena \[([^\]]*)\]", line).group(1).split(",")]
    host = re.search(r"host_arena \[([^\]]*)\]", line)
    return max(arena), [int(n) for n in host.group(1).split(",")] if host else []


plain, nothing = read(sys.argv[1])
copied, host = read(sys.argv[2])
if nothing or not host:
    sys.exit(f"host arenas: {nothing} and {host}")
print(f"arena {plain} and {copied} bytes, {100 * (plain - copied) / plain:.1f} % smaller; host {host}")
sys.exit(copied > 0.6 * plain)
