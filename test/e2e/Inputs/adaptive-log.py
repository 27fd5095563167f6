# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the log of an adaptive run: adaptive-log.py LOG BYTES_PER_US DWELL.

All links have a latency of 10 us and carry BYTES_PER_US. The run has the usual
--adapt-gain of 2 % and --adapt-dwell DWELL. What is measured of links is exact;
of tasks, which sleep for 1 ms, only that it is not less. Each decision must be
the one that the estimates in the log ask for, whatever they are.
"""

import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
rate, dwell = int(sys.argv[2]), int(sys.argv[3])
measured = [line for line in lines if "links" in line]
for line in measured:
    for link in line["links"]:
        assert link["messages"] >= 16 and link["bytes"] >= 100000, link
        assert link["median_ns"] == 10000 - (-1000 * link["bytes"] // rate), link
    for stage in line["stages"]:
        assert all(ns >= 1000000 for name, ns in stage.items() if name.endswith("_ns")), stage
last = measured[-1]
print(f"measured {len(last['links'])} links, {len(last['stages'])} stages")

switches = {line["iteration"]: line["switch"] for line in lines if "switch" in line}
for switch in switches.values():
    print(f"switched from {switch['from']} to {switch['to']}")
times = {line["iteration"]: line["schedule"] for line in lines if "ns" in line}
for iteration, schedule in times.items():
    changed = schedule != times.get(iteration - 1, schedule)
    assert changed == (iteration - 1 in switches), iteration
print("no iteration changes its schedule without saying so")

since, asked = 1, {}
for line in lines:
    if "switch" in line:
        since = line["iteration"] + 1
    # A decision is made in the iteration after the estimates.
    if "estimates" not in line or line["iteration"] + 1 not in times:
        continue
    runs, ns = line["runs"], line["estimates"]
    best = min(ns, key=ns.get)
    if line["iteration"] - since + 1 >= dwell and ns[best] <= 0.98 * ns[runs]:
        asked[line["iteration"] + 1] = {"from": runs, "to": best}
assert switches == asked, (switches, asked)
print("each switch is what the estimates ask for, and none is left out")
