# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every file that a bundle's program includes in quotes, or one of those, is there.

    includes.py BUNDLE [FOLDER...]

FOLDER: further folders of BUNDLE where the compiler looks, with a library whose own
files are not checked.
"""

import pathlib
import re
import sys

bundle = pathlib.Path(sys.argv[1])
# Compiled only with the search, whose folders come with it.
left_out = [] if (bundle / "lowering").is_dir() else list((bundle / "runtime/search").glob("*.cpp"))
seen = {path for path in bundle.rglob("*") if path.suffix in (".cpp", ".cu")}.difference(left_out)
assert seen, f"{bundle} has no sources"
todo, missing = sorted(seen), []
while todo:
    file = todo.pop()
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE):
        if any((bundle / folder / name).is_file() for folder in sys.argv[2:]):
            continue
        found = [path for path in (bundle / name, file.parent / name) if path.is_file()]
        if not found:
            missing.append(f"{file} includes {name}, which is missing")
        elif found[0] not in seen:
            seen.add(found[0])
            todo.append(found[0])
print(f"{len(seen)} files")
sys.exit("\n".join(missing) or 0)
