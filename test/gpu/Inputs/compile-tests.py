"""Compiles every test of test/gpu against the stand-in for GoogleTest.

compile-tests.py COMPILER ROOT
"""

import pathlib
import subprocess
import sys

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
status = 0
sources = [
    *sorted((root / "test/unit/cuda").glob("*.cpp")),
    *sorted((root / "test/unit/conformance").glob("*Test.cpp")),
    root / "test/gpu/DevicePairs.cpp",
    root / "test/gpu/WideTest.cpp",
]
for source in sources:
    # As in test/gpu/CMakeLists.txt.
    if "cuda_emulation/" in source.read_text():
        continue
    done = subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", f"-I{root}/test/gpu",
         f"-I{root}/test/cuda_emulation", f"-I{root}", str(source)],
        check=False,
    )
    status |= done.returncode
    print(source.name, done.returncode)
sys.exit(status)
