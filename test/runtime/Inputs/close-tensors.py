# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two safetensors files of one F32 tensor.

close-tensors.py FILE FILE TOLERANCE
"""

import json
import struct
import sys


def tensor_of(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__")
    ((name, tensor),) = header.items()
    return name, tensor["shape"], struct.unpack(f"<{len(data) // 4}f", data)


first, second = tensor_of(sys.argv[1]), tensor_of(sys.argv[2])
if first[:2] != second[:2]:
    sys.exit(f"{first[:2]} and {second[:2]}")
worst = max(abs(a - b) for a, b in zip(first[2], second[2]))
print(f"{first[1]} differ by {worst:.3g}")
# Written so that NaN fails too.
if not worst <= float(sys.argv[3]):
    sys.exit(1)
