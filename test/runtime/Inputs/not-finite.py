# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies a safetensors file with a NaN in the middle of wte.weight.

not-finite.py FILE COPY
"""

import json
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
(length,) = struct.unpack("<Q", data[:8])
begin, end = json.loads(data[8 : 8 + length])["wte.weight"]["data_offsets"]
middle = 8 + length + (begin + end) // 8 * 4
data[middle : middle + 4] = struct.pack("<f", float("nan"))
open(sys.argv[2], "wb").write(data)
