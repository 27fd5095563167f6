# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of many-tensors.mlir: writes them, and checks what a run made of them.

    many-tensors.py init FILE
    many-tensors.py check INIT SAVED LOG
"""

import json
import math
import pathlib
import struct
import sys

NUMBERS, TRAINED = 24, 19
NAMES = [f"many.t{t}" for t in range(TRAINED)] + ["many.scale"]


def read(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {
        name: (entry["shape"], data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
        for name, entry in header.items()
    }


def numbers(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


if sys.argv[1] == "init":
    header, data = {}, b""
    for t, name in enumerate(NAMES):
        header[name] = {"dtype": "F32", "shape": [4, 3, 2], "data_offsets": [len(data), len(data) + 4 * NUMBERS]}
        data += struct.pack(f"<{NUMBERS}f", *(0.01 * (t + 1) + 0.02 * i if t < TRAINED else 0.5 + i / 64 for i in range(NUMBERS)))
    text = json.dumps(header).encode()
    pathlib.Path(sys.argv[2]).write_bytes(struct.pack("<Q", len(text)) + text + data)
    sys.exit()

first, saved = read(sys.argv[2]), read(sys.argv[3])
assert saved["many.scale"] == first["many.scale"], "the frozen tensor has changed"
assert all(saved[name][1] != first[name][1] for name in NAMES[:-1]), "a tensor was not trained"
moments = sorted(name for name in saved if name.startswith("optimizer."))
assert moments == sorted(f"optimizer.{m}.{name}" for m in "mv" for name in NAMES[:-1]), moments
# All gradients are the same, so the norm counts each of them once.
scale = numbers(first["many.scale"][1])
weights = [numbers(first[name][1]) for name in NAMES[:-1]]
norm = math.sqrt(TRAINED * sum(
    ((sum(w[i] for w in weights) * scale[i] - 3) * scale[i]) ** 2 for i in range(NUMBERS)))
log = [event for event in map(json.loads, open(sys.argv[4], encoding="utf-8")) if "norm" in event]
found = log[0]["norm"]
assert abs(found / norm - 1) < 1e-5, (found, norm)
print(f"{len(saved)} tensors, norm {found:.4f}")
