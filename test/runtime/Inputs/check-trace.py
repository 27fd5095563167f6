# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that what a trace of a program says fits together, and counts it."""

import collections
import json
import sys

with open(sys.argv[1]) as file:
    trace = json.load(file)
assert trace["format"] == "rondo-trace/1", trace["format"]
events = trace["traceEvents"]
ranges = [e for e in events if e["ph"] == "X"]


def end(event):
    return event["ts"] + event["dur"]


tasks = {}
for event in ranges:
    if event["cat"] == "task":
        tasks[event["args"]["iteration"], event["name"]] = event

# Waits are over when what waited begins, and say what for.
for event in ranges:
    if event["cat"] == "wait" and event["args"]["for"] == "message":
        args = event["args"]
        task = tasks[args["iteration"], args["task"]]
        assert task["pid"] == event["pid"] != args["rank"], event
        assert end(event) <= task["ts"] + 0.002, (event, task)

# A message is sent by the task that makes it and arrives before its wait ends.
begun = {}
messages = 0
for event in events:
    if event["ph"] == "b":
        begun[event["id"]] = event
    elif event["ph"] == "e":
        first = begun.pop(event["id"])
        args = first["args"]
        made = tasks[args["iteration"], first["name"]]
        assert made["pid"] == args["from"] != args["to"] == event["pid"], first
        assert args["bytes"] > 0, first
        assert end(made) - 0.002 <= first["ts"] <= event["ts"], (made, first)
        messages += 1
assert not begun

# All that a rank does lies in its run, one thing after another.
for rank in range(trace["ranks"]):
    runs = [e for e in ranges if e["pid"] == rank and e["cat"] == "run"]
    inside = sorted(
        (e for e in ranges if e["pid"] == rank and e["cat"] != "run"),
        key=lambda e: (e["ts"], end(e)),
    )
    for before, after in zip(inside, inside[1:]):
        assert end(before) <= after["ts"] + 0.002, (before, after)
    busy = sum(e["dur"] for e in inside)
    assert 0 < busy <= sum(e["dur"] for e in runs), (rank, busy)

count = collections.Counter(e["cat"] for e in ranges)
print(", ".join(f"{count[c]} of {c}" for c in sorted(count)), f"{messages} messages")
