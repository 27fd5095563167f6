# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No prose of the documentation is wider than 120 columns.

    check-widths.py SOURCES

Fenced blocks, indented commands and rows of tables may be wider, since they cannot be
wrapped, and a line of one word, such as an address.
"""

import pathlib
import re
import sys

WIDTH = 120
root = pathlib.Path(sys.argv[1])
pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]
lines, wide = 0, []
for page in pages:
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ", "<!--")):
            lines += 1
            if len(line) > WIDTH and len(line.split()) > 1 and not re.fullmatch(r"`[^`]+`\.?", line):
                wide.append(f"{page.relative_to(root)}:{number}: {len(line)} columns, at most {WIDTH}")
if wide:
    sys.exit("\n".join(wide))
print(f"{len(pages)} pages, {lines} lines of prose")
