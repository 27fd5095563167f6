#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if a lit test has FileCheck lines that check nothing.

    scripts/check-directives.py [FOLDER]

These are a prefix that no RUN line names, a misspelt suffix, and a prefix that
only says what must be absent: any other output would pass. FOLDER has the tests.
"""

import collections
import os
import pathlib
import re
import sys

SUFFIXES = ("", "-NEXT", "-NOT", "-SAME", "-DAG", "-LABEL", "-EMPTY")
# Words of lit, and rule ids that comments begin with.
NO_PREFIX = re.compile(r"RUN|REQUIRES|UNSUPPORTED|XFAIL|DEFINE|REDEFINE|[PSL][1-9]")


def used_prefixes(text):
    """The prefixes that FileCheck is called with."""
    used = set()
    for line in re.findall(r"RUN:(.*)", re.sub(r"\\\n.*?RUN:", "", text)):
        for call in re.findall(r"FileCheck[^|]*", line):
            names = re.findall(r"--check-prefix(?:es)?[= ]([\w,-]+)", call)
            used.update(name for group in names for name in group.split(","))
            if not names:
                used.add("CHECK")
    return used


def faults_of(text):
    used = used_prefixes(text)
    kinds = collections.defaultdict(set)
    lines = re.split(r"^(?://|#)--- ", text, flags=re.M)[0] if "split-file" in text else text
    for line in lines.splitlines():
        word = re.match(r"\s*(?://|#)?\s*([A-Z][A-Z0-9_-]*(?<!-)):", line)
        if not word or NO_PREFIX.fullmatch(word[1]):
            continue
        name = re.sub(r"-COUNT-\d+$", "", word[1])
        prefix = max((u for u in used if name == u or name.startswith(u + "-")), key=len, default=None)
        if prefix is None:
            yield f"{name}: no RUN line has this prefix"
        elif name[len(prefix):] not in SUFFIXES:
            yield f"{name}: FileCheck has no such suffix"
        else:
            kinds[prefix].add(name[len(prefix):])
    for prefix, suffixes in kinds.items():
        if suffixes == {"-NOT"}:
            yield f"{prefix}: only says what must be absent; name something that must be there"


def main():
    here = pathlib.Path(__file__).resolve().parent.parent / "test"
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else here)
    count, faults = 0, []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("Inputs", "Output", "unit"))
        for file in sorted(files):
            if not file.endswith((".mlir", ".test")):
                continue
            path = pathlib.Path(folder, file)
            count += 1
            faults += [f"{path}: {fault}" for fault in faults_of(path.read_text())]
    if not count:
        sys.exit(f"no tests in {root}")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{count} tests")


main()
