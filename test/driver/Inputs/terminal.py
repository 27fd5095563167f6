"""Runs a command whose standard error is a terminal; prints what it wrote there.

    terminal.py [--interrupt SECONDS] COMMAND...

Standard output goes where it went. Carriage returns and escapes are spelled out.
SIGINT is sent that long after the first output: before, nobody may catch it.
"""

import os
import pty
import signal
import subprocess
import sys
import threading

command = sys.argv[1:]
interrupt = None
if command[0] == "--interrupt":
    interrupt, command = float(command[1]), command[2:]
ours, theirs = pty.openpty()
process = subprocess.Popen(command, stderr=theirs)
os.close(theirs)
written = b""
while True:
    try:
        piece = os.read(ours, 4096)
    except OSError:  # how a terminal ends on Linux
        break
    if not piece:
        break
    if interrupt is not None and not written:
        threading.Timer(interrupt, process.send_signal, [signal.SIGINT]).start()
    written += piece
text = written.decode().replace("\r\n", "\n").replace("\r", "<return>").replace("\x1b", "<escape>")
print(text, file=sys.stderr)
sys.exit(process.wait())
