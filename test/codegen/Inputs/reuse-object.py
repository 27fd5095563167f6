# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler launcher that spares a bundle's libraries a second compilation.

reuse-object.py ROOT BUILD COMPILER ARGUMENTS...

Of a library of the bundle, the object of one source becomes BUILD's whole library,
and those of the others are empty, if the sources equal ROOT's. Everything else is
compiled; so are, as a check, the sources named in CHECKED, one of each kind. See
includes.py for what the compiler then does not check.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

# Of each library: the archive of a build, and the source that stands for all of it.
# Those of RondoSimulator are in librondo_runtime.a.
LIBRARIES = {
    "RondoRuntime": ("librondo_runtime.a", "runtime/trainer/main.cpp"),
    "RondoSimulator": ("librondo_runtime.a", None),
    "RondoCuda": ("librondo_cuda.a", "runtime/backend/cuda/backend.cpp"),
}
CHECKED = ("runtime/base/clock.cpp", "runtime/device/cuda/kernels.cu", "schedule/program/Slots.cpp")


def name_in(root, source):
    """The path of the same source in ROOT; None: there is none."""
    for i, part in enumerate(source.parts):
        name = pathlib.Path(*source.parts[i:])
        if part in ("runtime", "schedule") and (root / name).is_file():
            return name if (root / name).read_bytes() == source.read_bytes() else None
    return None


def empty_object(output):
    """Compiled once for each folder where a build runs."""
    empty = pathlib.Path("empty-object.o")
    if not empty.exists():
        with tempfile.TemporaryDirectory(dir=".") as folder:
            made = pathlib.Path(folder) / empty
            subprocess.run(["cc", "-x", "c", "-c", "/dev/null", "-o", made], check=True)
            made.rename(empty)
    shutil.copy(empty, output)


def main():
    root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    command = sys.argv[3:]
    if "-c" in command and "-o" in command:
        source = pathlib.Path(command[command.index("-c") + 1])
        output = command[command.index("-o") + 1]
        library = next((part[:-4] for part in pathlib.Path(output).parts if part.endswith(".dir")), None)
        name = name_in(root, source)
        if name and library in LIBRARIES:
            archive, all_of_it = LIBRARIES[library]
            if str(name) in CHECKED:
                with tempfile.NamedTemporaryFile(suffix=".o") as checked:
                    command[command.index("-o") + 1] = checked.name
                    subprocess.run(command, check=True)
            if str(name) == all_of_it:
                subprocess.run(["ld", "-r", "--whole-archive", build / "lib" / archive, "-o", output], check=True)
            else:
                empty_object(output)
            return 0
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
