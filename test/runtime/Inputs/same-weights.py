#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two checkpoints have the same weights, whatever else they hold.

same-weights.py ONE OTHER
"""

import json
import struct
import sys


def weights(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    return {
        name: data[begin + of["data_offsets"][0] : begin + of["data_offsets"][1]]
        for name, of in json.loads(data[8:begin]).items()
        if name != "__metadata__" and not name.startswith("optimizer.")
    }


one, other = weights(sys.argv[1]), weights(sys.argv[2])
print(f"{len(one)} tensors, {'equal' if one == other else 'different'}")
