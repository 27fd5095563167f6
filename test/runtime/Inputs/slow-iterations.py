# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The slowest of the other iterations of a log takes 5 ms less than these: LOG ITERATION..."""

import json
import sys

times = {}
for line in open(sys.argv[1]):
    record = json.loads(line)
    if "ns" in record:
        times[record["iteration"]] = record["ns"] / 1e6
slow = [int(word) for word in sys.argv[2:]]
fast = [ms for iteration, ms in times.items() if iteration not in slow]
assert min(times[iteration] for iteration in slow) > sorted(fast)[len(fast) // 2] + 5, times
