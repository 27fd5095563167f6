# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose standard error is a terminal; prints what it wrote there.

    terminal.py [--until REGEX] COMMAND...

Standard output is not redirected. Carriage returns and escapes are spelled out.
SIGINT is sent once the text matches the expression. The command is killed after
LIMIT_S.
"""

import os
import pty
import re
import signal
import subprocess
import sys
import threading

LIMIT_S = 300


def spelled(written):
    text = written.decode(errors="replace").replace("\r\n", "\n")
    return text.replace("\r", "<return>").replace("\x1b", "<escape>")


command = sys.argv[1:]
until = None
if command[0] == "--until":
    until, command = command[1], command[2:]
ours, theirs = pty.openpty()
process = subprocess.Popen(command, stderr=theirs)
os.close(theirs)
timer = threading.Timer(LIMIT_S, process.kill)
timer.start()
written = b""
while True:
    try:
        piece = os.read(ours, 4096)
    except OSError:  # how a terminal ends on Linux
        break
    if not piece:
        break
    written += piece
    if until is not None and re.search(until, spelled(written)):
        process.send_signal(signal.SIGINT)
        until = None
print(spelled(written), file=sys.stderr)
status = process.wait()
timer.cancel()
sys.exit(status)
