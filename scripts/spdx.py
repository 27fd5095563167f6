#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds the license line to the head of each source file that lacks it.

    scripts/spdx.py [--check] [FOLDER]

With --check only lists the files without it. FOLDER is the root of the repository.
"""

import sys

from sources import root_folder, source_files

LINE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"

# Start of a comment, by file extension or name.
COMMENT = {
    **dict.fromkeys([".h", ".cpp", ".c", ".cu", ".cuh", ".td"], "// "),
    **dict.fromkeys([".py", ".sh", ".cmake", "CMakeLists.txt", "Makefile", ".awk"], "# "),
}


def sources(root):
    """(path, how a comment begins) of each source file."""
    for path in source_files(root):
        comment = COMMENT.get(path.suffix) or COMMENT.get(path.name)
        if comment:
            yield path, comment


def with_line(text, comment):
    """The line goes after a first line that must stay first: `#!`, or LLVM's banner."""
    first, end, rest = text.partition("\n")
    line = comment + LINE + "\n"
    if not first.startswith(("#!", "//===")):
        return line + text
    # An empty comment line, as between a banner and what follows it.
    bare = comment.strip()
    banner = first.startswith("//===")
    gap = bare + "\n" if banner and rest.startswith(bare) and not rest.startswith(bare + "\n") else ""
    return first + end + line + gap + rest


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    check = len(arguments) < len(sys.argv) - 1
    root = root_folder(arguments)
    count, lacking = 0, []
    for path, comment in sources(root):
        count += 1
        text = path.read_text()
        # A whole line, so that this script's own text does not count.
        if any(l == comment + LINE for l in text.splitlines()[:5]):
            continue
        lacking.append(path.relative_to(root).as_posix())
        if not check:
            path.write_text(with_line(text, comment))
    if not count:
        sys.exit(f"no sources in {root}")
    if check and lacking:
        sys.exit("\n".join(f"{path} does not name its license; run scripts/spdx.py" for path in lacking))
    print(f"{count} files name their license" + ("" if check else f", {len(lacking)} of them are new"))


main()
