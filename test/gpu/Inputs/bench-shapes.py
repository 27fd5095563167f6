# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the models of bench/gpu/bench.py with the .mlir files in its folder."""

import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1]) / "bench/gpu"
sys.dont_write_bytecode = True
sys.path.insert(0, str(folder))
import bench

for name, (layers, hidden, heads) in bench.MODELS.items():
    text = (folder / f"gpt2-{name}.mlir").read_text()
    said = dict(re.findall(r"(\w+) = (\d+)", text))
    wanted = {"vocab": bench.VOCAB, "sequence": bench.SEQUENCE, "hidden": hidden,
              "heads": heads, "ffn": 4 * hidden, "batch": bench.BATCH}
    for key, value in wanted.items():
        assert int(said[key]) == value, (name, key)
    assert len(re.findall(r"pipe.layer @h\d+ block", text)) == layers, name
    counts = set(re.findall(r"microbatches\((\d+)\)", text))
    assert counts == {str(bench.MICROBATCHES)}, name
    print(name, bench.parameters(name), "parameters")
