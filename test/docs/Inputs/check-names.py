#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, links and passes that the documentation names exist.

    check-names.py SOURCES
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
folders = "|".join(
    re.escape(folder.name)
    for folder in sorted(root.iterdir())
    if folder.is_dir() and not folder.name.startswith((".", "build"))
)
passes = set()
for source in ("passes/Passes.td", "codegen/Passes.td"):
    passes |= set(re.findall(r'Pass<"([^"]+)"', (root / source).read_text()))
passes |= set(
    re.findall(r'"(pipe-[a-z-]+)"', (root / "passes/Pipelines.cpp").read_text())
)

def anchors_of(page):
    """The names that GitHub gives to a page's headings."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    names = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        names.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return names


faults = []
counts = {"link": 0, "anchor": 0, "path": 0, "pass": 0}
pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
for page in pages:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        counts["link"] += 1
        if not (page.parent / link).exists():
            faults.append(f"{page.name}: no page {link}")
    for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        counts["anchor"] += 1
        named = page.parent / link if link else page
        if not named.exists():
            faults.append(f"{page.name}: no page {link}")
        elif named.suffix == ".md" and anchor not in anchors_of(named):
            faults.append(f"{page.name}: {named.name} has no heading #{anchor}")
    for path in re.findall(rf"`((?:{folders})/[\w./*-]*)`", text):
        counts["path"] += 1
        if not list(root.glob(path.rstrip("/"))):
            faults.append(f"{page.name}: no file {path}")
    for name in re.findall(r"`(pipe-[a-z-]+)`", text):
        counts["pass"] += 1
        if name not in passes:
            faults.append(f"{page.name}: no pass {name}")

# Every rule that code names has a paragraph.
rules = (root / "docs/schedule-rules.md").read_text()
named = set()
for source in [*(root / "schedule").rglob("*.h"), *(root / "passes").glob("*.td")]:
    named |= set(re.findall(r"\b([PSL][1-9]\d?)\b", source.read_text()))
for rule in sorted(named):
    if f"\n### {rule} " not in rules:
        faults.append(f"schedule-rules.md: no paragraph on {rule}")
# Every paragraph names an existing rule.
for rule in re.findall(r"\n### ([PSL]\d+) ", rules):
    if rule not in named:
        faults.append(f"schedule-rules.md: no rule {rule}")

# A pattern that matches nothing checks nothing.
faults += [f"no page names a {kind}" for kind, count in counts.items() if not count]
if faults:
    sys.exit("\n".join(faults))
print(f"{len(pages)} pages, {len(named)} rules")
