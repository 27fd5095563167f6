# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the makespans of the schedules on standard input, in units of 4 ns, on one
line after the family."""

import json
import sys

schedules = [json.loads(line) for line in sys.stdin]
print(schedules[0]["family"], *(f"{schedule['makespan_ns'] / 4:g}" for schedule in schedules))
