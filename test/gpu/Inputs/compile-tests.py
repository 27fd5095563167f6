"""Compiles every test of test/unit/cuda against the stand-in for GoogleTest.

compile-tests.py COMPILER ROOT
"""

import pathlib
import subprocess
import sys

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
status = 0
for source in sorted((root / "test/unit/cuda").glob("*.cpp")):
    done = subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", f"-I{root}/test/gpu",
         f"-I{root}/test/cuda_emulation", f"-I{root}", str(source)],
        check=False,
    )
    status |= done.returncode
    print(source.name, done.returncode)
sys.exit(status)
