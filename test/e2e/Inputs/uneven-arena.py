# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the arenas of two lowered files rank by rank."""

import re
import sys


def arenas(path):
    with open(path, encoding="utf-8") as file:
        return [int(n) for n in re.search(r" arena \[([0-9, ]+)\]", file.read()).group(1).split(",")]


padded, true = arenas(sys.argv[1]), arenas(sys.argv[2])
saved = [100 * (1 - b / a) for a, b in zip(padded, true)]
print("every arena is smaller:" if min(saved) > 0 else "some arena is not smaller:",
      f"{min(saved):.1f} to {max(saved):.1f} %")
