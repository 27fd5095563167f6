# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the counted lines of the core with those that a page states: core-lines.py COUNTED PAGE"""

import re
import sys

with open(sys.argv[1]) as text:
    counted = int(re.search(r"^core: ([0-9,]+) lines", text.read())[1].replace(",", ""))
if counted > 15000:
    raise SystemExit(f"the core has {counted} lines, more than 15,000")
with open(sys.argv[2]) as text:
    stated = re.search(r"([0-9.]+) thousand lines of core", " ".join(text.read().split()))
if not stated or abs(1000 * float(stated[1]) - counted) > 250:
    raise SystemExit(f"{sys.argv[2]} says {stated and stated[1]} thousand lines of core, counted are {counted}")
print("the core has at most 15,000 lines, and the page says so")
