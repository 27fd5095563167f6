# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and links tables of bodies by the rondo command."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Sequence

from ...command import RondoError, find_rondo


class MissingFunctions(Exception):
    """Functions that graphs call and Rondo's library does not have."""

    def __init__(self, names: set[str]):
        super().__init__(", ".join(sorted(names)))
        self.names = names


def cache_folder() -> Path:
    """Where compiled graphs are kept for the next export."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "rondo" / "torch"


def make_archive(tables: str, objects: Sequence[Path], output: Path) -> None:
    """A library of bodies, for rondo compile --library."""
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        folder = Path(name)
        (folder / "tables.cpp").write_text(tables)
        _compile([str(folder / "tables.cpp"), "-o", str(folder / "tables.o")])
        made = folder / output.name
        subprocess.run(
            ["ar", "rcs", str(made), str(folder / "tables.o"), *map(str, objects)],
            check=True,
        )
        os.replace(made, output)


def make_program(
    main: str, objects: Sequence[Path], output: Path, options: Sequence[str] = ()
) -> None:
    """A program of this main function and graphs, with Rondo's library. `options` are
    those of rondo compile. Raises MissingFunctions."""
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        source = Path(name) / "main.cpp"
        source.write_text(main)
        libraries = [word for path in objects for word in ("--library", str(path))]
        _compile([str(source), *options, *libraries, "-o", str(output)])


def _compile(arguments: list[str]) -> None:
    done = subprocess.run(
        [find_rondo(), "compile", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    missing = set(re.findall(r"\b(?:aoti_torch_\w+|Sleef_\w+)", done.stderr))
    if "undefined" in done.stderr and missing:
        raise MissingFunctions(missing)
    raise RondoError(done.stderr.strip(), done.returncode)
