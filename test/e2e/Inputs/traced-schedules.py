# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the forwards of a trace, and what its ranks ran."""

import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
of = lambda category: [event["args"] for event in events if event.get("cat") == category]
print(sum(task.get("kind") == "F" for task in of("task")), "forwards")
runs = of("run")
print(len(runs), "runs of", ", ".join(sorted({run["schedule"] for run in runs})))
