# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints schedules of a file with claims.

    claim.py SCHEDULES.jsonl PROBLEM:MAKESPAN:PEAKS:HOST_PEAKS...
"""

import json
import sys

claims = {claim.split(":")[0]: claim.split(":")[1:] for claim in sys.argv[2:]}
for line in open(sys.argv[1]):
    schedule = json.loads(line)
    if schedule["problem"] not in claims:
        continue
    makespan, peaks, host_peaks = claims[schedule["problem"]]
    schedule["makespan_ns"] = int(makespan)
    schedule["peak_memory_bytes"] = [int(peak) for peak in peaks.split(",")]
    schedule["peak_host_bytes"] = [int(peak) for peak in host_peaks.split(",")]
    print(json.dumps(schedule, separators=(",", ":")))
