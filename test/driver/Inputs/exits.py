# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and says whether it ends with the status that is expected.

    exits.py STATUS COMMAND...
"""

import subprocess
import sys

status = subprocess.run(sys.argv[2:], check=False).returncode
if status != int(sys.argv[1]):
    sys.exit(f"ended with {status}, not {sys.argv[1]}")
