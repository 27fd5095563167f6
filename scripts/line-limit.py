#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails where a file that people write has more than 400 lines.

    scripts/line-limit.py [FOLDER]

FOLDER is the root of the repository. EXEMPT lists what is not written by hand.
"""

import os
import pathlib
import sys

LIMIT = 400
KINDS = {".h", ".cpp", ".c", ".cu", ".cuh", ".td", ".py", ".sh", ".cmake", ".mlir", ".test", ".md", ".awk"}
NAMES = {"CMakeLists.txt", "Makefile", "run"}

# Folder: why its files may be longer.
EXEMPT = {
    "bench/gpu/programs": "programs that rondo wrote",
    "test/gpu/bundles": "programs that rondo wrote",
    "docs/reference": "written by make doc",
    "third_party": "other projects' sources, as they are",
}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if root.is_file():
        root = root.parent.parent
    count, long = 0, []
    for folder, folders, files in os.walk(root):
        inside = pathlib.Path(folder).relative_to(root).as_posix()
        folders[:] = sorted(
            f
            for f in folders
            if f != ".git"
            and not f.startswith("build")
            and os.path.normpath(f"{inside}/{f}") not in EXEMPT
        )
        for file in sorted(files):
            if os.path.splitext(file)[1] not in KINDS and file not in NAMES:
                continue
            path = pathlib.Path(folder, file)
            with path.open(errors="replace") as text:
                lines = sum(1 for _ in text)
            count += 1
            if lines > LIMIT:
                long.append(f"{path.relative_to(root)} has {lines} lines; the most is {LIMIT}")
    if not count:
        sys.exit(f"no sources in {root}")
    if long:
        sys.exit("\n".join(long))
    print(f"{count} files of at most {LIMIT} lines")


main()
