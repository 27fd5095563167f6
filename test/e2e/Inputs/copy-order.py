# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the last iteration of a trace has copies one after another.

    copy-order.py TRACE.json NAME...
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
events = trace["traceEvents"] if isinstance(trace, dict) else trace
last = {}
for event in events:
    if event.get("cat") == "copy" and event["name"] in sys.argv[2:]:
        last[event["name"]] = (event["ts"], event["ts"] + event["dur"])
for before, after in zip(sys.argv[2:], sys.argv[3:]):
    if last[after][0] < last[before][1]:
        sys.exit(f"{after} begins at {last[after][0]}, before the end of {before} at {last[before][1]}")
print("one after another in this order")
