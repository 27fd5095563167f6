# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each of these iterations takes 5 ms longer than the fastest of the others: LOG ITERATION...

Imposed links and a busy machine only add time, so that the fastest says how long
an iteration takes at the least.
"""

import json
import sys

times = {}
for line in open(sys.argv[1]):
    record = json.loads(line)
    if "ns" in record:
        times[record["iteration"]] = record["ns"] / 1e6
slow = [int(word) for word in sys.argv[2:]]
fastest = min(ms for iteration, ms in times.items() if iteration not in slow)
early = {iteration: times[iteration] for iteration in slow if times[iteration] < fastest + 5}
if early:
    sys.exit(f"{sys.argv[1]}: iterations {early} (ms) are as fast as the fastest of the others, {fastest} ms: {times}")
