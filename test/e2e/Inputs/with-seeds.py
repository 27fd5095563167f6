# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verifies a program for emulated GPUs with several orders of its streams.

    with-seeds.py PROGRAM COUNT equal | differs

`equal`: the weights are bit-equal with all COUNT seeds. `differs`: they differ with one
of them. Status 1 if not.
"""

import os
import subprocess
import sys

program, count, expected = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for seed in range(1, count + 1):
    run = subprocess.run(
        [program, "--verify", "--quiet", "--iterations", "3"],
        env={**os.environ, "RONDO_EMULATED_SEED": str(seed)},
        capture_output=True, text=True, check=False,
    )
    if "verify: PASS" not in run.stdout and "verify: FAIL" not in run.stdout:
        sys.exit(f"seed {seed}: {run.stdout}{run.stderr}")
    if "verify: FAIL" in run.stdout:
        print("the weights differ with a seed")
        sys.exit(expected != "differs")
print(f"the weights are equal with {count} seeds")
sys.exit(expected != "equal")
