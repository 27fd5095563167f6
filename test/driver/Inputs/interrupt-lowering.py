# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interrupts a command once it takes more memory than MEGABYTES, which only
lowering does, and checks that SIGINT ends it at once.

    interrupt-lowering.py MEGABYTES COMMAND...
"""

import signal
import subprocess
import sys
import time


def resident_megabytes(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


process = subprocess.Popen(
    sys.argv[2:],
    # Tests in the background may ignore signals.
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
)
deadline = time.monotonic() + 300
while resident_megabytes(process.pid) < float(sys.argv[1]):
    if process.poll() is not None:
        sys.exit(f"ended with {process.returncode} before it took that much")
    if time.monotonic() > deadline:
        sys.exit(f"it did not take {sys.argv[1]} MB within 300 s")
    time.sleep(0.005)
process.send_signal(signal.SIGINT)
status = process.wait()
if status != -signal.SIGINT:
    sys.exit(f"ended with {status}, not by SIGINT")
