#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a log's loss begins above one value and ends below another.

    falling-loss.py LOG ABOVE BELOW
"""

import json
import sys

losses = [
    event["loss"]
    for event in map(json.loads, open(sys.argv[1], encoding="utf-8"))
    if "loss" in event and "iteration" in event
]
above, below = map(float, sys.argv[2:])
print(f"{len(losses)} iterations, loss {losses[0]} to {losses[-1]}")
sys.exit(not losses[0] > above > below > losses[-1])
