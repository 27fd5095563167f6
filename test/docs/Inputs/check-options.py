#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation names each option of each command that `rondo --help` lists.

    check-options.py SOURCES RONDO
"""

import pathlib
import re
import subprocess
import sys

root, rondo = pathlib.Path(sys.argv[1]), sys.argv[2]


def helps(*command):
    return subprocess.run([rondo, *command, "--help"], check=True, capture_output=True, text=True).stdout


listed = re.search(r"^commands:\n((?:  .+\n)+)", helps(), re.M)[1]
commands = [re.split(r"  +", line.strip())[0].split() for line in listed.splitlines()]
pages = "\n".join(page.read_text() for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))])
options = set()
for command in commands:
    options.update(re.findall(r"^  (--?[a-z][a-z-]*) ", helps(*command), re.M))
missing = [option for option in sorted(options) if not re.search(rf"(?<![\w-]){option}(?![\w-])", pages)]
if missing:
    sys.exit(f"README.md and docs/ do not name {' '.join(missing)}")
print(f"{len(options)} options of {', '.join(' '.join(command) for command in commands)}")
