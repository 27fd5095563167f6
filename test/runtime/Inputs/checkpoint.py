# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a checkpoint: a safetensors file, or an index and its shards."""

import json
import os
import struct


def read_file(path):
    """Metadata, and by name the dtype, shape and bytes of each tensor."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__")
    return metadata, {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


def read(path):
    """The same of what --save PATH has written."""
    path = str(path)
    index = path + ".index.json"
    if os.path.exists(path) or not os.path.exists(index):
        return read_file(path)
    with open(index, encoding="utf-8") as file:
        contents = json.load(file)
    placed, tensors = contents["weight_map"], {}
    for name in sorted(set(placed.values())):
        metadata, some = read_file(os.path.join(os.path.dirname(path), name))
        if set(some) != {tensor for tensor, file in placed.items() if file == name}:
            raise ValueError(f"{name} has other tensors than its index says")
        if {key: value for key, value in contents["metadata"].items() if key != "total_size"} != metadata:
            raise ValueError(f"{name} is of another save than its index")
        tensors.update(some)
    if contents["metadata"]["total_size"] != sum(len(data) for _, _, data in tensors.values()):
        raise ValueError(f"{index} has another size than its tensors")
    return metadata, tensors
