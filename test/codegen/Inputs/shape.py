# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if an emitted program is larger than its schedule needs.

    shape.py LINES FUNCTIONS < program.cpp
"""

import sys

lines = sys.stdin.read().splitlines()
functions = [line for line in lines if line.startswith("static void ")]
print(f"{len(lines)} lines, {len(functions)} functions")
sys.exit(not 0 < len(lines) < int(sys.argv[1])
         or not 0 < len(functions) < int(sys.argv[2]))
