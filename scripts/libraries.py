#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws which folder depends on which, and fails if a dependency points up.

    scripts/libraries.py [--dot] [FOLDER]

docs/libraries.md lists the libraries in order, in tables whose heading begins with
"library": `library` for the compiler's, "library of `X/`" for those of X. A file may
include files of its own library and of libraries above it in its table. A third column
names what else a library may use: LLVM, MLIR, and libraries of other tables. If X is a
library of another table, its own ones may use what X may, and who may use X may use
them. Reads the includes of all sources and the link lists of CMake. FOLDER is the root of the
repository; the output is a drawing, as text or for Graphviz.
"""

import collections
import os
import pathlib
import re
import sys

PAGE = "docs/libraries.md"
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".c", ".td"}

Library = collections.namedtuple("Library", "path table rank sees")


def read_libraries(root):
    """The libraries in the page's tables, in order."""
    libraries = []
    table, prefix, rank = -1, None, 0
    for line in (root / PAGE).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            prefix = None
        elif prefix is None:
            heading = re.fullmatch(r"library(?: of `(.+)`)?", cells[0])
            if heading:
                table, prefix, rank = table + 1, heading[1] or "", 0
        elif name := re.match(r"`(.+?)/?`", cells[0]):
            sees = set(re.findall(r"LLVM|MLIR", cells[2])) if len(cells) > 2 else set()
            if len(cells) > 2:
                sees |= {path.rstrip("/") for path in re.findall(r"`(.+?)`", cells[2])}
            libraries.append(Library(prefix + name[1], table, rank, sees))
            rank += 1
    return libraries


class Libraries:
    def __init__(self, root):
        self.root = root
        self.libraries = read_libraries(root)
        self.faults = []
        self.arrows = collections.Counter()

    def of(self, path):
        """The library of a path, or None."""
        inside = [r for r in self.libraries if path == r.path or path.startswith(r.path + "/")]
        return max(inside, key=lambda r: len(r.path), default=None)

    def parent(self, library):
        """The library of another table that has this one as a folder, or None."""
        return self.of(os.path.dirname(library.path)) if "/" in library.path else None

    def sources(self, names):
        """Paths of files in libraries whose name or suffix is among `names`."""
        tops = sorted({library.path.split("/")[0] for library in self.libraries})
        for top in tops:
            for folder, folders, files in os.walk(self.root / top):
                folders.sort()
                for file in sorted(files):
                    if file in names or os.path.splitext(file)[1] in names:
                        yield pathlib.Path(folder, file).relative_to(self.root).as_posix()

    def depend(self, user, used, place, what):
        """Notes that library `user` depends on library `used`; a fault if it must not."""
        if user.table != used.table:
            user_parent, used_parent = self.parent(user), self.parent(used)
            if used_parent and used_parent not in (user, user_parent):
                return self.depend(user, used_parent, place, what)
            if user_parent and user_parent != used:
                return self.depend(user_parent, used, place, what)
        if user == used:
            return
        self.arrows[user.path, used.path] += 1
        if user.table == used.table:
            if user.rank < used.rank:
                self.faults.append(
                    f"{place}: {what}: {user.path} is above {used.path} in {PAGE}, "
                    "and what is above knows nothing of what is below"
                )
        elif used.path not in user.sees:
            self.faults.append(f"{place}: {what}: {user.path} does not see {used.path} by {PAGE}")

    def depend_on_library(self, user, library, place, what):
        if library not in user.sees | getattr(self.parent(user), "sees", set()):
            self.faults.append(f"{place}: {what}: {user.path} does not see {library} by {PAGE}")

    def read_includes(self):
        for path in self.sources(SOURCES):
            user = self.of(path)
            if not user:
                self.faults.append(f"{path}: lies in no library of {PAGE}")
                continue
            text = (self.root / path).read_text(errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                found = re.match(r'\s*#?\s*include\s*["<]([^">]+)[">]', line)
                if not found:
                    continue
                target, place, what = found[1], f"{path}:{number}", f"includes {found[1]}"
                if used := self.of(target):
                    self.depend(user, used, place, what)
                elif target.startswith(("llvm/", "mlir/")):
                    self.depend_on_library(user, target[:4].upper(), place, what)
                elif (self.root / target).exists():
                    self.faults.append(f"{place}: {what}, which lies in no library of {PAGE}")

    def read_links(self):
        lists = []
        folder_of = {}
        for path in self.sources({"CMakeLists.txt"}):
            text = re.sub(r"#.*", "", (self.root / path).read_text())
            folder = os.path.dirname(path)
            calls = re.findall(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text)
            for command, arguments in calls:
                words = arguments.replace('"', " ").split()
                if re.fullmatch(r"(add|rondo)_\w*(library|executable|tool)", command) and words:
                    folder_of.setdefault(words[0], folder)
                if re.fullmatch(r"(mlir_)?target_link_libraries|rondo_tool", command):
                    lists.append((path, words[0], words[1:]))
        for path, target, libraries in lists:
            user = self.of(folder_of.get(target, os.path.dirname(path)))
            for library in libraries:
                what = f"links {library} to {target}"
                if library in folder_of:
                    used = self.of(folder_of[library])
                    if user and used:
                        self.depend(user, used, path, what)
                    elif user:
                        self.faults.append(f"{path}: {what}, which is built outside the libraries")
                elif user and (found := re.match("LLVM|MLIR", library)):
                    self.depend_on_library(user, found[0], path, what)

    def draw(self, dot):
        if dot:
            print("digraph libraries {\n  rankdir = BT")
            for library in self.libraries:
                print(f'  "{library.path}"')
            for (user, used), count in sorted(self.arrows.items()):
                print(f'  "{user}" -> "{used}" [label = {count}]')
            print("}")
            return
        width = max(len(library.path) for library in self.libraries)
        place = {library.path: (library.table, library.rank) for library in self.libraries}
        for library in self.libraries:
            used = sorted((b for a, b in self.arrows if a == library.path), key=place.get)
            text = ", ".join(f"{b} {self.arrows[library.path, b]}" for b in used)
            print(f"{library.path:{width}} -> {text}" if text else library.path)


def main():
    arguments = sys.argv[1:]
    dot = "--dot" in arguments
    folders = [a for a in arguments if a != "--dot"]
    here = pathlib.Path(__file__).resolve().parent.parent
    libraries = Libraries(pathlib.Path(folders[0]) if folders else here)
    if not libraries.libraries:
        sys.exit(f"{PAGE} has no table of libraries")
    libraries.read_includes()
    libraries.read_links()
    libraries.draw(dot)
    if not libraries.arrows:
        sys.exit("no library depends on another one: the sources were not found")
    if libraries.faults:
        sys.exit("\n".join(libraries.faults))


main()
