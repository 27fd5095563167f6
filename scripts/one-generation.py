#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps a library's GPU code for one generation, so that it compresses well.

    one-generation.py LIBRARY GENERATION OUTPUT

NCCL's library is 250 MB, too much for some ways to a machine with a GPU. Almost
all of it is the same code for each generation. This sets the code of all others
to 0: the file keeps its size and its layout, runs on that generation (90: an
H100 or H200) as before, and `xz` makes 39 MB of it. Code that a driver would
translate (PTX) goes as well, of whichever generation.

Fat binaries are laid out as cuobjdump shows them: a header of 16 bytes with the
magic number 0xba55ed50, then entries with their kind, sizes and generation.
"""

import os
import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)
# kind, version, header bytes, payload bytes.
ENTRY = struct.Struct("<HHIQ")
GENERATION_AT = 28


def entries(data):
    """(generation, first byte, number of bytes) of each entry's payload; 0: PTX."""
    at = data.find(MAGIC)
    while 0 <= at <= len(data) - 16:
        version, header, size = struct.unpack_from("<HHQ", data, at + 4)
        end = at + header + size
        if version != 1 or header != 16 or end > len(data):
            # The magic number by chance.
            at = data.find(MAGIC, at + 4)
            continue
        entry = at + header
        while entry + 32 <= end:
            kind, _, header, size = ENTRY.unpack_from(data, entry)
            if header < 32 or entry + header + size > end:
                raise ValueError(f"entry at byte {entry} is longer than its fat binary")
            generation, = struct.unpack_from("<I", data, entry + GENERATION_AT)
            yield (0 if kind == 1 else generation), entry + header, size
            entry += header + size
        at = data.find(MAGIC, end)


def main():
    if len(sys.argv) != 4 or not sys.argv[2].isdigit():
        sys.exit(__doc__.splitlines()[2].strip())
    library, generation, output = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    try:
        data = bytearray(pathlib.Path(library).read_bytes())
    except OSError as error:
        sys.exit(f"cannot read {library}: {error.strerror}")
    sizes = {}
    try:
        found = list(entries(data))
    except ValueError as error:
        sys.exit(f"{library}: {error}")
    for each, _, size in found:
        sizes[each] = sizes.get(each, 0) + size
    if generation == 0 or generation not in sizes:
        has = ", ".join(str(each) for each in sorted(sizes) if each) or "none"
        sys.exit(f"{library} has no code for generation {generation}, but for: {has}")
    for each, first, size in found:
        if each != generation:
            data[first:first + size] = bytes(size)
    part = f"{output}.part"
    try:
        pathlib.Path(part).write_bytes(data)
        os.replace(part, output)
    except OSError as error:
        sys.exit(f"cannot write {output}: {error.strerror}")
    print(f"kept {sizes[generation]} bytes of code for generation {generation}, "
          f"cleared {sum(sizes.values()) - sizes[generation]}")


if __name__ == "__main__":
    main()
