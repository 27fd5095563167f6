#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/reference/ from the TableGen files and from the commands' help
that the build wrote, the table of formats into docs/exchange.md, and the keys of
JSON formats into docs/formats.md and docs/reliability.md; with --check only lists
pages that are out of date.

    scripts/reference-docs.py [--check] [BUILD]

BUILD is the build folder, by default build/.
"""

import pathlib
import re
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
    # Each output repeats the note that it must not be edited. The check of the
    # next word is no part of the syntax.
    check = r'`` custom<Next>\("[^"]*", "[^"]*"\)'
    text = re.sub(rf"\s+{check}$|{check} ", "", done.stdout, flags=re.MULTILINE)
    return text.partition("\n")[2].lstrip()


def written(build, name):
    """What the build wrote from the tables of the commands."""
    page = build / "manual" / name
    if not page.exists():
        sys.exit(f"{page} is missing: build the target `manual`")
    return page.read_text()


def with_table(page, name, table):
    """A page with the table between its two comments; `name` is in the first."""
    begin = f"<!-- {name}Written by `make doc`; do not edit. -->\n"
    end = "<!-- end -->\n"
    before, found, rest = page.partition(begin)
    old, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"a page has no place for a table: {begin.strip()}")
    return before + begin + "\n" + table + "\n" + end + after


def with_keys(page, keys):
    """A page with the table of each format that it names in a comment; `keys` has
    all of them, each after its name in a heading."""
    for section in keys.split("## ")[1:]:
        name, _, table = section.partition("\n\n")
        if f"<!-- Keys of {name}. " in page:
            page = with_table(page, f"Keys of {name}. ", table.strip() + "\n")
    return page


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    builds = [argument for argument in arguments if argument != "--check"]
    build = pathlib.Path(builds[0]) if builds else root / "build"
    note = "<!-- Written by `make doc`; do not edit. -->\n\n"
    pages = [("reference/commands.md", note + written(build, "commands.md"), "tools/driver")]
    for page, title, sources, options in PAGES:
        text = title + "\n".join(generate(source, options) for source in sources)
        pages.append((f"reference/{page}", note + text, sources[0]))
    exchange = (root / "docs/exchange.md").read_text()
    exchange = with_table(exchange, "", written(build, "formats.md"))
    pages.append(("exchange.md", exchange, "formats/exchange"))
    keys = written(build, "keys.md")
    for page in ("formats.md", "reliability.md"):
        text = with_keys((root / "docs" / page).read_text(), keys)
        pages.append((page, text, "formats/json"))
    stale = []
    for page, text, source in pages:
        path = root / "docs" / page
        if path.exists() and path.read_text() == text:
            continue
        if check:
            stale.append(f"docs/{page} is not what {source} says")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote docs/{page}")
    if stale:
        sys.exit("\n".join(stale) + "\nrun `make doc` and commit the result")


main()
