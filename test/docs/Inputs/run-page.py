#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what a page of the documentation says.

    run-page.py PAGE SOURCES BUILD SCRATCH [WORD...]

Each ```sh block of PAGE runs in SCRATCH, where the sources and build/ are visible
under their own names. A ```text block that follows holds its output: "..."
stands for any text, on a line of its own for any lines; in a block that is
marked `text measured` numbers may differ. A ```mlir block that names a file
holds that file's text; a ```json block that names one makes it. A block ```sh WORD needs what not every machine has, and runs
if WORD is given. A line `make TARGET` only has to
name a target, since set-up, build and tests do not nest; the steps of `make
demo` run with one iteration.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys


def blocks_of(page):
    """(line, info, text) of each fenced block."""
    found = []
    info = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if info is None and line.startswith("```"):
            start, info, text = number, line[3:].strip(), []
        elif info is not None and line.startswith("```"):
            found.append((start, info, "\n".join(text)))
            info = None
        elif info is not None:
            text.append(line)
    return found


def shortened(script):
    lines = []
    for line in script.splitlines():
        match = re.match(r"(?:sudo )?make\b(.*)", line)
        if not match:
            lines.append(line)
            continue
        lines.append(f"make -n {match[1]} > /dev/null")
        if re.match(r"\s*demo\b", match[1]):
            data = re.search(r"\bDATA=(\S+)", line)
            lines.append("sh scripts/demo.sh build --short" + (f" --data {data[1]}" if data else ""))
    return "\n".join(lines)


def same_line(shape, line):
    """Whether the pieces between the "..." of a shape follow each other in a line."""
    if shape == line:
        return True
    first, *pieces = shape.split("...")
    if not pieces or not line.startswith(first):
        return False
    at = len(first)
    last = pieces.pop()
    for piece in pieces:
        found = line.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return line.endswith(last) and at <= len(line) - len(last)


def same_lines(shapes, lines):
    """The same for lines, where "..." alone stands for any of them."""
    head = shapes.index("...") if "..." in shapes else len(shapes)
    if head > len(lines) or not all(map(same_line, shapes[:head], lines)):
        return False
    if head == len(shapes):
        return head == len(lines)
    rest = shapes[head + 1 :]
    return any(same_lines(rest, lines[k:]) for k in range(head, len(lines) + 1))


def differs(expected, output, measured):
    """Whether the output is not what the page shows."""
    if measured:
        number = r"[-+]?\d[\d,.]*( (ns|us|ms|s)\b)?"
        expected = re.sub(number, "0", expected)
        output = re.sub(number, "0", output)
        # Columns move with the width of their numbers.
        expected = re.sub(r"[ \t]+", " ", expected)
        output = re.sub(r"[ \t]+", " ", output)
    return not same_lines(expected.strip().splitlines(), output.strip().splitlines())


def main():
    page, sources, build, scratch = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
    kinds = ["sh"] + ["sh " + word for word in sys.argv[5:]]
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for entry in sources.iterdir():
        if not entry.name.startswith((".", "build")):
            (scratch / entry.name).symlink_to(entry)
    (scratch / "build").mkdir()
    for entry in build.iterdir():
        if entry.name != "demo":
            (scratch / "build" / entry.name).symlink_to(entry)

    blocks = blocks_of(page)
    ran = 0
    for (line, info, text), following in zip(blocks, blocks[1:] + [(0, "", "")]):
        name = info.partition(" ")[2]
        if info.startswith("mlir ") and (scratch / name).read_text().strip() != text:
            sys.exit(f"{page.name}:{line}: {name} has another text")
        if info.startswith("json "):
            (scratch / name).write_text(text)
        if info not in kinds:
            continue
        ran += 1
        done = subprocess.run(
            ["sh", "-e", "-u", "-c", shortened(text)],
            cwd=scratch,
            env={**os.environ, "MAKEFLAGS": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        shown = following[1].startswith("text")
        output = done.stdout + (done.stderr if shown else "")
        # A page that shows an error expects it.
        should_fail = shown and "error:" in following[2]
        if should_fail != (done.returncode != 0):
            sys.exit(
                f"{page.name}:{line}: status {done.returncode}\n"
                f"{text}\n{done.stdout}{done.stderr}"
            )
        if shown and differs(following[2], output, "measured" in following[1]):
            sys.exit(
                f"{page.name}:{following[0]}: the output is another one, of\n"
                f"{text}\nnow:\n{output}"
            )
    if not ran:
        sys.exit(f"{page.name}: no ```sh block")

    # Targets that prose names.
    for target in sorted(set(re.findall(r"`make ([a-z]+)", page.read_text()))):
        subprocess.run(
            ["make", "-n", target], cwd=scratch, stdout=subprocess.DEVNULL, check=True
        )
    print(f"{page.name}: {ran} blocks")


main()
