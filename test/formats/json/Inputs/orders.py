# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the orders of the schedule on standard input, one line per rank without
the stage, and the peaks."""

import json
import re
import sys

schedule = json.loads(sys.stdin.readline())
for rank, order in enumerate(schedule["ranks"]):
    print(f"stage {rank}:", *(re.sub(r"^\d+", "", action) for action in order))
print("peaks:", *schedule["peak_memory_bytes"])
