#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation names each option of each command that `rondo --help` lists.

    check-options.py RONDO COMMANDS PAGES

COMMANDS is the folder that has a file of options, NAME.td, for each command; help
must list exactly those. PAGES has README.md and docs/.
"""

import pathlib
import re
import subprocess
import sys

rondo, sources, root = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def helps(*command):
    return subprocess.run([rondo, *command, "--help"], check=True, capture_output=True, text=True).stdout


def section(text, title):
    """The entries below a title, without indentation and without the lines that continue one."""
    found = re.search(rf"^{title}:\n((?:  .+\n)+)", text, re.M)
    return re.findall(r"^  (\S.*)", found[1], re.M) if found else []


commands = [re.split(r"  +", line)[0] for line in section(helps(), "commands")]
# ImportModel.td is of `import model`, ImportMegatronArgs.td of `import megatron-args`.
declared = [re.sub(r"(?<!^)([A-Z])", r" \1", path.stem).lower() for path in sources.glob("*.td")]
if sorted(command.replace("-", " ") for command in commands) != sorted(declared):
    sys.exit(f"help lists {', '.join(sorted(commands))}; there are options of {', '.join(sorted(declared))}")

options = set()
for command in commands:
    lines = section(helps(*command.split()), "options")
    found = [re.match(r"(--?[a-z][a-z-]*) ", line) for line in lines]
    if not found or None in found:
        sys.exit(f"the options of {command} are not read: {lines}")
    options.update(match[1] for match in found)
pages = "\n".join(page.read_text() for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))])
missing = [option for option in sorted(options) if not re.search(rf"(?<![\w-]){option}(?![\w-])", pages)]
if missing:
    sys.exit(f"README.md and docs/ do not name {' '.join(missing)}")
