# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removes waits from the tables of an emitted program whose stages copy.

    without-waits.py PROGRAM WAITING AWAITED > NEW

An action of kind WAITING, for example Load, then awaits no action of kind AWAITED.
Fails if none did. Their rows become repetitions of a row that stays.
"""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
row = r"    \{rondo::ActionKind::%s, \d+, \d+, rondo::ActionKind::%s, \d+, \d+\},\n"
removed = re.compile(row % (sys.argv[2], sys.argv[3]))
count = 0


def shorten(table):
    global count
    rows = table.group(2).splitlines(keepends=True)
    kept = [each for each in rows if not removed.fullmatch(each)]
    count += len(rows) - len(kept)
    return table.group(1) + "".join(kept + kept[:1] * (len(rows) - len(kept))) + "};\n"


text = re.sub(r"(constexpr LaneWaitDesc lane_waits_\d+\[\] = \{\n)((?:    .*\n)*)\};\n", shorten, text)
if count == 0:
    sys.exit(f"no {sys.argv[2]} awaits a {sys.argv[3]}")
sys.stdout.write(text)
