# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a trace of a program for diff.mlir, with times that are known.

    write-trace.py FILE SCALE...

Each SCALE makes an iteration, whose times are that many times these, in
microseconds: rank 0 runs from 0 to 77, with F from 1 to 12, a wait from 14 to
54, I from 55 to 65 and W from 65 to 76; rank 1 runs from 0 to 53, with a wait
from 1 to 20, F from 20 to 30, I from 30 to 41 and W from 41 to 52.
"""

import json
import sys

events = []


def add(name, category, pid, thread, first, last, **args):
    events.append(
        {
            "name": name,
            "cat": category,
            "ph": "X",
            "pid": pid,
            "tid": thread,
            "ts": begin + scale * first,
            "dur": scale * (last - first),
            "args": {"iteration": number, **args},
        }
    )


def task(rank, kind, first, last):
    add(f"{rank}{kind}0", "task", rank, 0, first, last, stage=rank, microbatch=0, kind=kind, replica=0)


def message(name, source, sink, sent, arrived, end):
    ends = {"stage": source, "microbatch": 0, "bytes": 64}
    add(f"send {name}", "message", source, 1, sent, end, to=sink, **ends)
    for phase, at in (("b", sent), ("e", arrived)):
        event = {"name": name, "cat": "message", "ph": phase, "pid": sink, "tid": 1}
        event |= {"ts": begin + scale * at, "id": f"m{len(events)}" if phase == "b" else events[-1]["id"]}
        event["args"] = {"iteration": number, "from": source, "to": sink, **ends}
        events.append(event)


begin = 0
for number, scale in enumerate(map(float, sys.argv[2:]), 1):
    for rank, end in ((0, 77), (1, 53)):
        add("run main", "run", rank, 2, 0, end, schedule="main", iterations=1, microbatches=1)
    task(0, "F", 1, 12)
    message("0F0", 0, 1, 12, 20, 13)
    add("wait for 1I0", "wait", 0, 0, 14, 54, rank=1, task="0I0", **{"for": "message"})
    task(0, "I", 55, 65)
    task(0, "W", 65, 76)
    add("wait for 0F0", "wait", 1, 0, 1, 20, rank=0, task="1F0", **{"for": "message"})
    task(1, "F", 20, 30)
    task(1, "I", 30, 41)
    task(1, "W", 41, 52)
    message("1I0", 1, 0, 52, 54, 52.5)
    begin += scale * 100

with open(sys.argv[1], "w") as file:
    whole = {"format": "rondo-trace/1", "executable": "main", "ranks": 2, "stages": ["s0", "s1"]}
    json.dump({**whole, "traceEvents": events}, file)
