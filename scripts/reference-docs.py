#!/usr/bin/env python3
"""Writes docs/reference/ from the TableGen files; with --check it only says
which page is not current."""

import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
llvm = pathlib.Path("/usr/lib/llvm-22")

# Page, TableGen file, how mlir-tblgen writes it.
PAGES = [
    ("pipe-dialect.md", "dialect/Pipe.td", ["-gen-dialect-doc", "-dialect=pipe"]),
    ("passes.md", "passes/Passes.td", ["-gen-pass-doc"]),
]


def generate(source, options):
    command = [llvm / "bin/mlir-tblgen", *options, f"-I{root}", f"-I{llvm}/include"]
    done = subprocess.run(
        [*command, root / source], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"mlir-tblgen cannot read {source}:\n{done.stderr}")
    return done.stdout


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for page, source, options in PAGES:
        path = root / "docs/reference" / page
        text = generate(source, options)
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
