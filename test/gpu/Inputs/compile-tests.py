# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the tests of test/gpu that the emulated build leaves out.

compile-tests.py COMPILER ROOT
"""

import pathlib
import subprocess
import sys

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
status = 0
for source in sorted((root / "test/gpu").glob("*.cpp")):
    if source.name == "probe.cpp":
        continue
    done = subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
         f"-I{root}/test/cuda_emulation", f"-I{root}", str(source)],
        check=False,
    )
    status |= done.returncode
    print(source.name, done.returncode)
sys.exit(status)
