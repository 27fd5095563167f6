#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists hand-written files of more than 400 lines, which may do more than one thing.

    scripts/line-limit.py [FOLDER]

FOLDER is the root of the repository. EXEMPT lists what is not written by hand.
"""

import sys

from sources import root_folder, source_files

LIMIT = 400
KINDS = {".h", ".cpp", ".c", ".cu", ".cuh", ".td", ".py", ".sh", ".cmake", ".mlir", ".test", ".md", ".awk"}
NAMES = {"CMakeLists.txt", "Makefile", "run"}

# Folder: why its files may be longer.
EXEMPT = {
    "docs/reference": "written by make doc",
}


def main():
    root = root_folder(sys.argv[1:])
    count, long = 0, []
    for path in source_files(root, EXEMPT):
        if path.suffix not in KINDS and path.name not in NAMES:
            continue
        with path.open(errors="replace") as text:
            lines = sum(1 for _ in text)
        count += 1
        if lines > LIMIT:
            long.append(f"{path.relative_to(root)} has {lines} lines")
    if not count:
        sys.exit(f"no sources in {root}")
    print(*long, f"{len(long)} of {count} files have more than {LIMIT} lines", sep="\n")


main()
