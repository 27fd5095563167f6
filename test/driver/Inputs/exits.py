# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and checks its exit status.

    exits.py STATUS COMMAND...
"""

import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
if status != int(sys.argv[1]):
    sys.exit(f"ended with {status}, not {sys.argv[1]}")
