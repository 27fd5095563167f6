# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what a trace of `rondo show` has.

    trace-figures.py TRACE
"""

import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
print("process_name:", ", ".join(e["args"]["name"] for e in events if e["name"] == "process_name"))
tasks = [e for e in events if e.get("cat") == "computation"]
print(f"computation: {len(tasks)}, from {min(e['ts'] for e in tasks):.1f} to {max(e['ts'] + e['dur'] for e in tasks):.1f} us")
messages = [e for e in events if e.get("cat") == "communication"]
print(f"communication: {len(messages)}, on threads {sorted({e['tid'] for e in messages})}")
sent = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
received = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
back = [i for i in sent if received[i] < sent[i]]
print(f"flows: {len(sent)} sent, {len(received)} received, {len(back) or 'none'} back in time")
