# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints which parts of the runtime a program has: linked-parts.py PROGRAM."""

import subprocess
import sys

# Two functions of each part that nothing can leave out.
PARTS = {
    "core": ["State::State(", "ProgramRun::iterate("],
    "processes": ["discoverLaunch(", "makeProcessTransport("],
    "adaptive": ["Estimator::estimate(", "simulateProgram("],
    "search": ["scheduleSearch", "PlanArenas"],
    "links": ["readLinkTrace(", "SerialLink::carry("],
    "body_check": ["bodyCheck", "checkGradients("],
    "generation": ["textGeneration"],
    "streams": ["streamReading", "StreamFile::check("],
    "copies": ["activationCopies", "CopyThreads::work("],
}

symbols = subprocess.run(["nm", "-C", sys.argv[1]], check=True, capture_output=True, text=True).stdout
found = []
for part, names in PARTS.items():
    there = [name for name in names if name in symbols]
    if there and there != names:
        raise SystemExit(f"{sys.argv[1]} has {there} of {part}, but not all of {names}")
    found += [part] * bool(there)
print(*found)
