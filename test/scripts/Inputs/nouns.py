# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the nouns that messages count with those of the test of plurals.

    nouns.py ROOT

Nouns are the literal second arguments of countOf() and nounFor(), and the forms
of numbers in schedule/model/Faults.def, such as {found:byte}.
"""

import pathlib
import re
import sys

FOLDERS = ["codegen", "dialect", "formats", "lowering", "passes", "planning", "runtime", "schedule", "tools"]
CALL = re.compile(r"\b(?:countOf|nounFor)\(")
FORM = re.compile(r"\{(?:\d+|found|allowed):([a-z -]+)\}")


def arguments(text, begin):
    """The text between a call's parentheses; `begin` is after the first."""
    depth, end = 1, begin
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[begin : end - 1]


def main():
    root = pathlib.Path(sys.argv[1])
    used = set(FORM.findall((root / "schedule/model/Faults.def").read_text()))
    used.discard("pool")  # The form of a pool's name.
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cpp", ".h"}:
                continue
            text = path.read_text()
            for call in CALL.finditer(text):
                if noun := re.search(r',\s*"([^"]+)"\s*$', arguments(text, call.end())):
                    used.add(noun[1])
    tested = set(re.findall(r'\{"([^"]+)", "[^"]+"\}', (root / "test/unit/schedule/CountsTest.cpp").read_text()))
    print(f"{len(used)} nouns, not tested: {', '.join(sorted(used - tested)) or 'none'}")


if __name__ == "__main__":
    main()
