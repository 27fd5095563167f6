# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the fuzz targets of test/fuzz are those of .ci/run: fuzz-turns.py ROOT"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
targets = re.findall(
    r"^rondo_fuzz_target\((\w+)", (root / "test/fuzz/CMakeLists.txt").read_text(), re.M
)
turns = " ".join(
    re.findall(r"RONDO_FUZZ_TARGETS='([^']*)'", (root / ".ci/run").read_text())
).split()
if sorted(targets) != sorted(turns):
    sys.exit(f".ci/run fuzzes {sorted(turns)}; there are {sorted(targets)}")
print(len(targets), "targets, each in one turn")
