#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the name and the shape of each tensor of a safetensors file."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
for name, tensor in header.items():
    if name != "__metadata__":
        print(name, tensor["shape"])
