#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the lines of the runtime that every program links, without comments and blank lines.

    scripts/core-lines.py BUILD

CMake lists the sources of the core in BUILD/runtime/core.txt and, with the command line of
programs around it, in linked.txt. The headers of this repository that they include count, too.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def with_headers(sources):
    """The files, and what they include, directly and indirectly."""
    files, left = set(), [pathlib.Path(source) for source in sources]
    while left:
        file = left.pop()
        if file in files:
            continue
        files.add(file)
        included = re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE)
        left += [ROOT / name for name in included if (ROOT / name).exists()]
    return files


def code_lines(file):
    """All comments of these files are lines of their own."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for what, name in ("core", "core.txt"), ("with the command line", "linked.txt"):
        sources = pathlib.Path(sys.argv[1], "runtime", name).read_text().split(";")
        files = with_headers(sources)
        print(f"{what}: {sum(map(code_lines, files)):,} lines in {len(files)} files")


main()
