#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/reference/ from the TableGen files and from the commands' help
that the build wrote; with --check only lists pages that are out of date.

    scripts/reference-docs.py [--check] [BUILD]

BUILD is the build folder, by default build/.
"""

import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
llvm = pathlib.Path("/usr/lib/llvm-22")

# Page, title, TableGen files, mlir-tblgen's arguments.
PAGES = [
    ("pipe-dialect.md", "", ["dialect/Pipe.td"], ["-gen-dialect-doc", "-dialect=pipe"]),
    ("passes.md", "# Passes\n\n", ["passes/Passes.td", "codegen/Passes.td"], ["-gen-pass-doc"]),
]


def generate(source, options):
    command = [llvm / "bin/mlir-tblgen", *options, f"-I{root}", f"-I{llvm}/include"]
    done = subprocess.run(
        [*command, root / source], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"mlir-tblgen cannot read {source}:\n{done.stderr}")
    # Each output repeats the note that it must not be edited.
    return done.stdout.partition("\n")[2].lstrip()


def commands(build):
    """The help of all commands."""
    page = build / "manual/commands.md"
    if not page.exists():
        sys.exit(f"{page} is missing: build the target `manual`")
    return page.read_text()


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    builds = [argument for argument in arguments if argument != "--check"]
    build = pathlib.Path(builds[0]) if builds else root / "build"
    pages = [("commands.md", commands(build), "tools/driver")]
    for page, title, sources, options in PAGES:
        text = title + "\n".join(generate(source, options) for source in sources)
        pages.append((page, text, sources[0]))
    stale = []
    for page, text, source in pages:
        path = root / "docs/reference" / page
        text = "<!-- Written by `make doc`; do not edit. -->\n\n" + text
        if path.exists() and path.read_text() == text:
            continue
        if check:
            stale.append(f"docs/reference/{page} is not what {source} says")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote docs/reference/{page}")
    if stale:
        sys.exit("\n".join(stale) + "\nrun `make doc` and commit the result")


main()
