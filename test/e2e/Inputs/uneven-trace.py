# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the different sizes of messages in a trace."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)
events = events.get("traceEvents", events) if isinstance(events, dict) else events
sizes = sorted({event["args"]["bytes"] for event in events if "bytes" in event.get("args", {})})
print("messages of", ", ".join(map(str, sizes[:-1])), "and", sizes[-1], "bytes")
