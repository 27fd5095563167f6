# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes 40 samples of the streams of points.mlir.

    points.py FILE
"""

import json
import random
import struct
import sys

numbers = random.Random(2)
parts = {
    "labels": ("U8", [40], bytes(numbers.randrange(3) for _ in range(40))),
    "points": ("F32", [40, 2, 2], struct.pack("<160f", *(numbers.uniform(-1, 1) for _ in range(160)))),
    "shift": ("BOOL", [40], bytes(numbers.randrange(2) for _ in range(40))),
}
header, data = {}, b""
for name, (dtype, shape, content) in parts.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
    data += content
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
