# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler launcher that spares a bundle's objects a second compilation.

reuse-object.py ROOT BUILD COMPILER ARGUMENTS...

A bundle's source that equals ROOT's takes BUILD's object. Everything else is
compiled, and so are the sources named in COMPILED, so that each kind is compiled at
least once. See includes.py for what the compiler then does not check.
"""

import pathlib
import shutil
import subprocess
import sys

COMPILED = ("runtime/base/clock.cpp", "runtime/transport/cuda/sums.cu", "schedule/Slots.cpp")
LIBRARIES = {"runtime": ("RondoRuntime", "RondoCuda", "RondoMpi"), "schedule": ("RondoSimulator",)}


def object_of(source, root, build):
    """What may replace a compilation; None: nothing."""
    for i, part in enumerate(source.parts):
        name = pathlib.Path(*source.parts[i:])
        if part not in LIBRARIES or not (root / name).is_file():
            continue
        if str(name) in COMPILED:
            return None
        if (root / name).read_bytes() != source.read_bytes():
            return None
        for library in LIBRARIES[part]:
            found = (build / part / "CMakeFiles" / f"{library}.dir" /
                     f"{pathlib.Path(*name.parts[1:])}.o")
            if found.is_file():
                return found
    return None


def main():
    root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    command = sys.argv[3:]
    if "-c" in command and "-o" in command:
        source = pathlib.Path(command[command.index("-c") + 1])
        output = command[command.index("-o") + 1]
        ready = object_of(source, root, build)
        if ready:
            shutil.copy(ready, output)
            return 0
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
