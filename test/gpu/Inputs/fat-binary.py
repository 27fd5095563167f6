# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fat-binary.py FILE GENERATION...: writes a library with code for each."""

import struct
import sys

entries = b""
for generation in sys.argv[2:]:
    code = f"code for {generation}".encode().ljust(24, b"\1")
    header = struct.pack("<HHIQ", 2, 1, 64, len(code)).ljust(28, b"\0")
    entries += (header + struct.pack("<I", int(generation))).ljust(64, b"\0") + code
# The magic number also stands alone, as it may in other sections.
lone = struct.pack("<IHHQ", 0xBA55ED50, 7, 0, 0)
with open(sys.argv[1], "wb") as file:
    file.write(b"\x7fELF" + lone)
    file.write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)
    file.write(b"the end")
