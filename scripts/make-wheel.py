#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make-wheel.py BUILD OUTPUT [--blas ARCHIVE]: the wheels of rondo-schedules.

Writes two wheels into the folder OUTPUT: one for Linux, with the command of
BUILD/wheel and what compiled programs need, and one of Python files alone. The
targets rondo-wheel, RondoRuntime and RondoSearch must be built. ARCHIVE is the
BLAS that programs link; by default scripts/blas.sh builds a small one, once.
Equal inputs give equal bytes: names are sorted, dates fixed. Prints the wheels.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Debian's Python, which has the build backend.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
# The static command runs on Linux 3.2 or later with any C library, so the tags are
# the oldest that current versions of pip know for both kinds.
PLATFORMS = ("manylinux_2_17", "musllinux_1_1")
DOCUMENTS = pathlib.Path("/usr/share/doc")
LICENSES = pathlib.Path("/usr/share/common-licenses")
README = """\
What `rondo compile` and `rondo bundle` use: headers and sources in include/, archives
in lib/. It belongs to the command rondo of the Python package rondo-schedules, which
also removes it. The licences of all that is linked in are in the package's folder
rondo_schedules-*.dist-info/licenses. The command links glibc and libstdc++ statically;
`make wheel` in Rondo's sources links it again, also with changed versions of these.
"""


def fail(text):
    sys.exit(f"make-wheel: {text}")


def output_of(*command):
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: status {done.returncode}")
    return done.stdout.strip()


def pure_files(scratch):
    """Content by name of the wheel that the build backend makes of python/."""
    # A copy, since the build leaves files next to the sources.
    package = scratch / "package"
    shutil.copytree(
        ROOT / "python", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "LICENSE", package)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "-q", "wheel"]
    output_of(*pip, "--no-build-isolation", "--no-deps", "--no-index", package, "-w", scratch)
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def runtime_files(build, scratch):
    """What an installation has in lib/rondo, without parts that depend on the
    machine, by name below share/rondo."""
    output_of("cmake", "--install", build, "--component", "runtime", "--prefix", scratch)
    folder = scratch / "lib" / "rondo"
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def cached(build, variable):
    """The value of a variable of CMake's cache."""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{variable}:"):
            return pathlib.Path(line.partition("=")[2])
    return fail(f"{build}/CMakeCache.txt has no {variable}")


def licenses(blas):
    """The texts of what the command and programs link, by name."""
    gcc = output_of("c++", "-dumpversion").partition(".")[0]
    texts = {
        "LLVM": DOCUMENTS / "libmlir-22-dev" / "copyright",
        "glibc": DOCUMENTS / "libc6-dev" / "copyright",
        "GCC": DOCUMENTS / f"libstdc++-{gcc}-dev" / "copyright",
        "libsodium": DOCUMENTS / "libsodium-dev" / "copyright",
        "OpenBLAS": blas.parent / "LICENSE",
        "LGPL-2.1": LICENSES / "LGPL-2.1",
        "GPL-3": LICENSES / "GPL-3",
    }
    if not texts["OpenBLAS"].exists():
        texts["OpenBLAS"] = DOCUMENTS / "libopenblas-dev" / "copyright"
    for name, file in texts.items():
        if not file.exists():
            fail(f"{file} is missing: the licence of {name} must be in the wheel")
    return {name: file.read_bytes() for name, file in texts.items()}


def check_command(command, build):
    """Ends with an error if the command would not run elsewhere."""
    if not command.exists():
        fail(f"{command} is missing: build the target rondo-wheel")
    for line in output_of("readelf", "--dynamic", "--program-headers", command).splitlines():
        if "(NEEDED)" in line or "INTERP" in line:
            fail(f"{command} is not static: {line.strip()}")
    content = command.read_bytes()
    for folder in (build, ROOT):
        if os.fsencode(folder) + b"/" in content:
            fail(f"{command} names the folder {folder} of this machine")
    return content


def write_wheel(path, files, programs=()):
    """Writes files, by name, with a new RECORD. The same bytes every time."""
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    lines = []
    for name in sorted(files.keys() - {record}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest())
        lines.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(files[name])}\n")
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # Installers recommend that the folder of metadata comes last.
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, which has modes.
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            archive.writestr(entry, files[name])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--blas", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    command = build / "wheel" / "rondo"
    content = check_command(command, build)
    blas = options.blas or pathlib.Path(output_of("sh", ROOT / "scripts" / "blas.sh"))
    sodium = cached(build, "RONDO_SODIUM")
    if sodium.suffix != ".a":
        fail(f"{sodium} is no archive, which programs on other machines need")

    with tempfile.TemporaryDirectory() as folder:
        pure = pure_files(pathlib.Path(folder))
        runtime = runtime_files(build, pathlib.Path(folder, "installed"))
    # rondo_schedules-0.2.0
    name = next(n for n in pure if n.endswith(".dist-info/WHEEL")).split(".dist-info")[0]
    version = name.partition("-")[2]
    if output_of(command, "--version").split()[:2] != ["rondo", version]:
        fail(f"{command} is not of version {version}, which python/pyproject.toml states")
    runtime |= {
        "README": README.encode(),
        "lib/librondo_blas.a": blas.read_bytes(),
        "lib/libsodium.a": sodium.read_bytes(),
    }
    for needed in ("include/runtime/rondo_runtime.h", "lib/librondo_runtime.a", "lib/librondo_search.a"):
        if needed not in runtime:
            fail(f"the installation of {build} has no {needed}")

    tags = [f"py3-none-{kind}_{platform.machine()}" for kind in PLATFORMS]
    full = dict(pure)
    full[f"{name}.dist-info/WHEEL"] = "".join(
        ["Wheel-Version: 1.0\n", "Generator: rondo make-wheel.py\n"]
        + ["Root-Is-Purelib: false\n"]
        + [f"Tag: {tag}\n" for tag in tags]
    ).encode()
    for kind, text in licenses(blas).items():
        full[f"{name}.dist-info/licenses/{kind}.txt"] = text
    program = f"{name}.data/scripts/rondo"
    full[program] = content
    for file, text in runtime.items():
        full[f"{name}.data/data/share/rondo/{file}"] = text

    options.output.mkdir(parents=True, exist_ok=True)
    platforms = ".".join(f"{kind}_{platform.machine()}" for kind in PLATFORMS)
    for tag, files in ((platforms, full), ("any", pure)):
        path = options.output / f"{name}-py3-none-{tag}.whl"
        write_wheel(path, files, {program})
        print(path)


main()
