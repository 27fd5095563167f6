#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation names each option of the help texts on standard input.

    check-options.py SOURCES < HELPS
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = "\n".join(page.read_text() for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))])
options = sorted(set(re.findall(r"^  (--?[a-z][a-z-]*) ", sys.stdin.read(), re.M)))
missing = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", pages)]
if missing:
    sys.exit(f"README.md and docs/ do not name {' '.join(missing)}")
print(f"{len(options)} options")
