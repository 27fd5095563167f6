#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/families.md has a row for each family of `rondo simulate --help`.

    check-families.py PAGE < HELP
"""

import pathlib
import re
import sys

help_text = sys.stdin.read().split("families:\n")[1].split("\n\n")[0]
families = re.findall(r"^  ([\w-]+)", help_text, re.M)
rows = re.findall(r"^\| `([\w-]+)` \|", pathlib.Path(sys.argv[1]).read_text(), re.M)
if sorted(families) != sorted(rows):
    sys.exit(f"help has {families}, the page has {rows}")
print(f"{len(rows)} families")
