# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command, sends it SIGINT as soon as it catches it, and checks its exit
status.

    interrupt.py STATUS COMMAND...
"""

import signal
import subprocess
import sys
import time


def catches_interrupt(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
    return False


process = subprocess.Popen(sys.argv[2:])
while process.poll() is None and not catches_interrupt(process.pid):
    time.sleep(0.02)
# Give it time to reach the search; the flag is kept in any case.
time.sleep(0.1)
process.send_signal(signal.SIGINT)
status = process.wait()
if status != int(sys.argv[1]):
    sys.exit(f"ended with {status}, not {sys.argv[1]}")
