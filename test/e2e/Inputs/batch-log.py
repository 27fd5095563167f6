# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the logs of runs that draw batches: a longer one, and one that resumes it."""

import json
import sys


def batches(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {line["iteration"]: line for line in lines if "order" in line}


all_of_run, resumed = batches(sys.argv[1]), batches(sys.argv[2])
orders = set()
for line in all_of_run.values():
    order = line["order"]
    assert sorted(order) == list(range(len(order))), order
    assert line["schedule"] in ("compiled", "early", "searched"), line
    assert 4 <= line["tokens"] <= 4 * 80 and line["predicted_ns"] > 0, line
    orders.add(tuple(order))
for number, line in resumed.items():
    for key in ("order", "tokens", "loss"):
        assert line[key] == all_of_run[number][key], (number, key)
sizes = {line["tokens"] for line in all_of_run.values()}
print(len(all_of_run), "batches of", "several" if len(sizes) > 1 else "one", "sizes, in",
      "several orders;" if len(orders) > 1 else "one order;", len(resumed), "of the resumed run are the same")
