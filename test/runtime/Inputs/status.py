# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and prints its exit code after its output."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, timeout=300, check=False)
sys.stdout.write(done.stdout.decode(errors="replace"))
print("exit code", done.returncode)
