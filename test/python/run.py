#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py [REPORT]: the tests of the Python package, with the rondo command that the
environment variable RONDO names. REPORT gets [name, result, text, seconds] of each
case; seconds is null if it did not run."""

import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"


class Result(unittest.TextTestResult):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seconds = {}

    def startTest(self, test):
        super().startTest(test)
        self.start = time.monotonic()

    def stopTest(self, test):
        self.seconds[test.id()] = time.monotonic() - self.start
        super().stopTest(test)

    def cases(self, all_names):
        told = {}
        for case, text in self.failures + self.errors:
            # A subtest counts with its test.
            told[getattr(case, "test_case", case).id()] = ("failed", text)
        for case, text in self.skipped:
            told.setdefault(case.id(), ("skipped", text))
        names = all_names | told.keys()
        return [
            [f"python/{name}", *told.get(name, ("passed", "")), self.seconds.get(name)]
            for name in sorted(names)
        ]


def names_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from names_in(item)
        else:
            yield item.id()


def main():
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path.insert(0, str(PACKAGE))
    suite = unittest.defaultTestLoader.discover(str(HERE))
    names = set(names_in(suite))
    result = unittest.TextTestRunner(resultclass=Result).run(suite)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(json.dumps(result.cases(names)))
    return 0 if result.wasSuccessful() and names else 1


sys.exit(main())
