"""Runs a command and prints its exit code behind its output."""

import subprocess
import sys
import time

begin = time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, timeout=60, check=False)
sys.stdout.write(done.stdout.decode(errors="replace"))
print("exit code", done.returncode)
if time.monotonic() - begin > 40:
    print("which took very long")
