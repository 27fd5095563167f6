# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the log of an adaptive run whose links have an occupancy of US us."""

import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
us = float(sys.argv[2])
measured = [line for line in lines if "links" in line]
for line in measured:
    for link in line["links"]:
        assert link["messages"] >= 16 and link["bytes"] >= 100000, link
        # An imposed link is exact: 10 us, and what its rate makes of the bytes.
        assert abs(link["median_ns"] - 1000 * (us + 10)) < 30000 * us / 1000, link
    for stage in line["stages"]:
        # Tasks sleep for 1 ms, and no shorter.
        assert stage["forward_ns"] >= 1000000, stage
last = measured[-1]
print(f"measured {len(last['links'])} links, {len(last['stages'])} stages")
switches = {line["iteration"]: line["switch"] for line in lines if "switch" in line}
for switch in switches.values():
    print(f"switched from {switch['from']} to {switch['to']}")
runs = None
for line in lines:
    if "ns" not in line:
        continue
    changed = runs is not None and line["schedule"] != runs
    assert changed == ((line["iteration"] - 1) in switches), line
    runs = line["schedule"]
print("no iteration changes its schedule without saying so")
