# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every test of TESTS/.lit_test_times.txt exists: test-times.py TESTS."""

import pathlib
import sys

tests = pathlib.Path(sys.argv[1])
listed = [line.split(maxsplit=1) for line in (tests / ".lit_test_times.txt").read_text().splitlines()]
for seconds, name in listed:
    if float(seconds) <= 0 or not (tests / name).is_file():
        sys.exit(f"{name}, {seconds} s: no such test")
print(len(listed), "tests")
