# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the losses of the programs cpu, fp32 and bf16, for each schedule.

losses-of-schedules.py FOLDER ITERATIONS SCHEDULE...
"""

import json
import os
import subprocess
import sys

folder, iterations = sys.argv[1], int(sys.argv[2])


def losses_of(program, schedule):
    log = os.path.join(folder, f"{program}-{schedule}.log")
    subprocess.run(
        [os.path.join(folder, program), "--data", os.path.join(folder, "text")]
        + ["--schedule", schedule, "--iterations", str(iterations)]
        + ["--drain-every", "4", "--quiet", "--json-log", log],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    entries = map(json.loads, open(log, encoding="utf-8"))
    return [e["loss"] for e in entries if "loss" in e]


for schedule in sys.argv[3:]:
    cpu = losses_of("cpu", schedule)
    assert len(cpu) == iterations, (schedule, cpu)
    for program, most in (("fp32", 1e-6), ("bf16", 2e-4)):
        losses = losses_of(program, schedule)
        assert len(losses) == iterations, (schedule, losses)
        for iteration, (a, b) in enumerate(zip(cpu, losses), 1):
            # Written so that NaN fails too.
            if not abs(b / a - 1) <= most:
                sys.exit(f"{schedule}, {program}, iteration {iteration}: {a} and {b}")
    print(f"{schedule}: {len(cpu)} losses, fp32 within 1e-06 of the CPU's, bf16 within 0.0002")
