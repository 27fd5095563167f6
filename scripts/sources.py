# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hand-written files of this repository, for the scripts that check them."""

import os
import pathlib


def root_folder(arguments):
    """The repository's root: the first argument, or where this script is."""
    return pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()


def source_files(root, exempt=()):
    """Paths in sorted order, without build folders and the folders of `exempt`."""
    for folder, folders, files in os.walk(root):
        inside = pathlib.Path(folder).relative_to(root).as_posix()
        folders[:] = sorted(
            f
            for f in folders
            if f != ".git"
            and not f.startswith("build")
            and os.path.normpath(f"{inside}/{f}") not in exempt
        )
        for file in sorted(files):
            yield pathlib.Path(folder, file)
