# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the weights of one of Rondo's checkpoints as Hugging Face's
transformers do: into a new folder with model.safetensors.

as-transformers.py CHECKPOINT FOLDER [OPTIONS]
"""

import argparse
import json
import os
import re
import struct

parser = argparse.ArgumentParser()
parser.add_argument("checkpoint")
parser.add_argument("folder")
parser.add_argument("--base", action="store_true", help="no prefix of the names")
parser.add_argument("--dtype", choices=["F32", "F16", "BF16", "I8"], default="F32")
parser.add_argument("--rounded", action="store_true", help="F32 with values of BF16")
parser.add_argument("--shards", action="store_true", help="blocks have their own file")
parser.add_argument("--drop", action="append", default=[], metavar="NAME")
parser.add_argument("--add", action="append", default=[], metavar="NAME:SIZE,...")
parser.add_argument("--reshape", action="append", default=[], metavar="NAME:SIZE,...")
parser.add_argument(
    "--head",
    choices=["same", "other", "only", "alias"],
    help="a copy of the embedding, or its only name, which metadata may say",
)
parser.add_argument("--positions", type=int, default=0, help="number of additional ones")
parser.add_argument("--edit-index", nargs=2, metavar=("FROM", "TO"))
options = parser.parse_args()

with open(options.checkpoint, "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()


def as_dtype(raw):
    values = struct.unpack(f"<{len(raw) // 4}I", raw)
    upper = [value >> 16 for value in values]
    if options.dtype == "BF16":
        return struct.pack(f"<{len(upper)}H", *upper)
    if options.dtype == "F16":
        floats = struct.unpack(f"<{len(values)}f", raw)
        return struct.pack(f"<{len(floats)}e", *floats)
    if options.dtype == "I8":
        return bytes(len(values))
    if options.rounded:
        return struct.pack(f"<{len(upper)}I", *(value << 16 for value in upper))
    return raw


metadata = {"format": "pt"}
tensors = {}
for name, tensor in header.items():
    if name == "__metadata__" or name.startswith("optimizer."):
        continue
    is_whole = name == "lm_head.weight" or name.startswith("model.")
    prefix = "" if options.base or is_whole else "transformer."
    name = prefix + re.sub(r"^h(\d+)\.", r"h.\1.", name)
    raw = data[slice(*tensor["data_offsets"])]
    shape = tensor["shape"]
    if name.endswith("wpe.weight"):
        shape = [shape[0] + options.positions, shape[1]]
        raw += b"\x7f" * (4 * options.positions * shape[1])
    tensors[name] = (shape, as_dtype(raw))
if options.head:
    token = next(n for n in tensors if n.endswith(("wte.weight", "embed_tokens.weight")))
    shape, raw = tensors[token]
    if options.head == "other":
        raw = raw[:-1] + bytes([raw[-1] ^ 1])
    if options.head in ("only", "alias"):
        del tensors[token]
    if options.head == "alias":
        metadata[token] = "lm_head.weight"
    tensors["lm_head.weight"] = (shape, raw)
for change in options.add + options.reshape:
    name, sizes = change.split(":")
    shape = [int(size) for size in sizes.split(",")]
    count = 1
    for size in shape:
        count *= size
    assert (name in tensors) == (change in options.reshape), name
    tensors[name] = (shape, as_dtype(bytes(4 * count)))
for name in options.drop:
    del tensors[name]

os.makedirs(options.folder)


def write(file_name, names):
    offset, entries = 0, {"__metadata__": metadata}
    for name in names:
        shape, raw = tensors[name]
        entries[name] = {
            "dtype": options.dtype,
            "shape": shape,
            "data_offsets": [offset, offset + len(raw)],
        }
        offset += len(raw)
    text = json.dumps(entries).encode()
    with open(os.path.join(options.folder, file_name), "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.writelines(tensors[name][1] for name in names)


if options.shards:
    files = {"others.safetensors": [], "blocks.safetensors": []}
    for name in tensors:
        files["blocks.safetensors" if ".h." in name or ".layers." in name else "others.safetensors"].append(name)
    for file_name, names in files.items():
        write(file_name, names)
    index = {"metadata": {"total_size": 0.5, "more": [{"a": None}, "\u00e9", -1e3]}}
    index["weight_map"] = {n: f for f, names in files.items() for n in names}
    text = json.dumps(index, indent=2)
    if options.edit_index:
        assert options.edit_index[0] in text
        text = text.replace(*options.edit_index)
    path = os.path.join(options.folder, "model.safetensors.index.json")
    open(path, "w", encoding="utf-8").write(text)
else:
    write("model.safetensors", list(tensors))
