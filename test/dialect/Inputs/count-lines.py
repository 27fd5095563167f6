# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if standard input has as many lines as the argument, or none."""

import sys

lines = sum(1 for _ in sys.stdin)
print(f"{lines} lines")
sys.exit(not 0 < lines < int(sys.argv[1]))
