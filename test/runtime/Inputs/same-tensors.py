# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the tensors of two safetensors files by name and bytes."""

import json
import struct
import sys


def tensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__")
    return {
        name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])])
        for name, t in header.items()
    }


left, right = (tensors(path) for path in sys.argv[1:3])
if left.keys() != right.keys():
    sys.exit("other names: %s" % sorted(left.keys() ^ right.keys()))
different = [name for name in left if left[name] != right[name]]
if different:
    sys.exit("other tensors: %s" % different)
print("%d tensors are the same" % len(left))
