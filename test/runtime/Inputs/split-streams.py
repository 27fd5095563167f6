# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divides a safetensors file of streams after some of its samples.

    split-streams.py FILE SAMPLES FOLDER

FOLDER gets two files.
"""

import json
import math
import pathlib
import struct
import sys

WIDTHS = {"F32": 4, "I64": 8, "I32": 4, "U8": 1}

path, first, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
text = pathlib.Path(path).read_bytes()
length = struct.unpack("<Q", text[:8])[0]
entries = json.loads(text[8:8 + length])
folder.mkdir()
for name, begin, end in [("a", 0, first), ("b", first, None)]:
    header, data = {}, b""
    for stream, entry in entries.items():
        samples, *row = entry["shape"]
        width = WIDTHS[entry["dtype"]] * math.prod(row)
        start = 8 + length + entry["data_offsets"][0]
        rows = text[start + begin * width:start + (end or samples) * width]
        header[stream] = {"dtype": entry["dtype"], "shape": [len(rows) // width, *row],
                          "data_offsets": [len(data), len(data) + len(rows)]}
        data += rows
    head = json.dumps(header).encode()
    (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
