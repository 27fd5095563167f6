# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m rondo`: the rondo command of this package."""

import os
import sys

from .command import NoCommand, find_rondo

try:
    command = find_rondo()
except NoCommand as error:
    sys.exit(f"rondo: error: {error}")
try:
    os.execv(command, [command, *sys.argv[1:]])
except OSError as error:
    sys.exit(f"rondo: error: cannot run {command}: {error.strerror}")
