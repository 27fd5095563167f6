# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interrupts `rondo compile` while the C++ compiler runs.

    interrupt-compiler.py FOLDER SIGNAL RONDO ARGUMENTS...

The compiler is a script that starts a process and waits for it. Checks that
rondo ends by the signal, that both processes have ended, and that neither the
output's folder, FOLDER/out, nor the temporary one holds a file.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])
number = signal.Signals[sys.argv[2]]
shutil.rmtree(folder, ignore_errors=True)
out, temporary = folder / "out", folder / "tmp"
out.mkdir(parents=True)
temporary.mkdir()
started = folder / "started"
compiler = folder / "c++"
compiler.write_text(
    f"#!/bin/sh\nsh -c 'echo $PPID $$ > {started}.part; mv {started}.part {started}; exec sleep 3600'\nexit 1\n"
)
compiler.chmod(0o755)


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    except FileNotFoundError:
        return False
    # A process that nobody waits for has ended all the same.
    return state.split()[0] != "Z"


process = subprocess.Popen(
    [*sys.argv[3:], "-o", out / "train"],
    env={**os.environ, "CXX": str(compiler), "TMPDIR": str(temporary)},
    # Tests in the background may ignore signals.
    preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
)
deadline = time.monotonic() + 60
while not started.exists():
    if time.monotonic() > deadline:
        sys.exit("the compiler did not start within 60 s")
    if process.poll() is not None:
        sys.exit(f"ended with {process.returncode} before the compiler started")
    time.sleep(0.02)
children = started.read_text().split()
if not any(out.iterdir()) or not any(temporary.iterdir()):
    sys.exit("there is nothing to remove")
process.send_signal(number)
status = process.wait()
if status != -number:
    sys.exit(f"ended with {status}, not by {number.name}")
# The signal was sent; a process may take a moment to end.
deadline = time.monotonic() + 60
while any(map(is_running, children)):
    if time.monotonic() > deadline:
        sys.exit("processes of the compiler still run after 60 s")
    time.sleep(0.02)
left = [*out.iterdir(), *temporary.iterdir()]
if left:
    sys.exit(f"not removed: {left}")
