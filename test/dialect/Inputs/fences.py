# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the mlir blocks of a Markdown page, one after another."""

import sys

lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
inside = False
for line in lines:
    if line.startswith("```"):
        inside = line == "```mlir"
    elif inside:
        print(line)
