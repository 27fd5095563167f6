# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a picture of `rondo compare` and says what is in it."""

import re
import sys
import xml.etree.ElementTree as tree

root = tree.fromstring(open(sys.argv[1]).read())
space = "{http://www.w3.org/2000/svg}"
marks = {}
for kind in ("family", "file", "search"):
    # Those of the legend are in a group.
    found = [e for e in root if e.get("class") == kind]
    marks[kind] = [e.find(space + "title").text for e in found]
labels = []
for text in root.iter(space + "text"):
    if "label" in (text.get("class") or ""):
        x, y, width = float(text.get("x")), float(text.get("y")), 6 * len(text.text)
        labels.append((x - width / 2, y - 10, x + width / 2, y + 3, text.text))
for i, a in enumerate(labels):
    assert 90 <= a[0] and a[2] <= 876, a
    for b in labels[:i]:
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)
# The front goes right and, on a screen, down.
front = [e.get("d") for e in root if e.get("class") == "front"]
for path in front:
    x, y = map(float, re.match(r"M([\d.]+) ([\d.]+)", path).groups())
    for letter, value in re.findall(r"([HV])([\d.]+)", path):
        if letter == "H":
            assert float(value) >= x, path
            x = float(value)
        else:
            assert float(value) > y, path
            y = float(value)
print(", ".join(f"{len(marks[k])} {k}" for k in marks), f"{len(front)} fronts")
for kind, titles in marks.items():
    for title in titles:
        print(f"{kind}: {title}")
print("labels:", " | ".join(sorted(label[4] for label in labels)))
for kind in ("bound", "cap"):
    for limit in root:
        if limit.get("class") == kind:
            print(f"{kind}: {limit.find(space + 'title').text}")
