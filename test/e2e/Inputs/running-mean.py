# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The running mean of the values of a run of running-mean.mlir: sample s has s / 1000.

    running-mean.py data FILE
    running-mean.py check CHECKPOINT ITERATIONS

The second computes it from the numbers of the samples, which follow from the seed 1.
"""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "runtime" / "Inputs"))
import checkpoint  # noqa: E402
from splitmix import MASK, mix  # noqa: E402

SAMPLES, TRAINED, MICROBATCHES, EACH = 1000, 900, 4, 8

if sys.argv[1] == "data":
    header = {"values": {"dtype": "F32", "shape": [SAMPLES], "data_offsets": [0, 4 * SAMPLES]}}
    text = json.dumps(header).encode()
    values = struct.pack(f"<{SAMPLES}f", *(s / 1000 for s in range(SAMPLES)))
    pathlib.Path(sys.argv[2]).write_bytes(struct.pack("<Q", len(text)) + text + values)
    sys.exit()

mean = 0.0
for iteration in range(1, int(sys.argv[3]) + 1):
    rows = [mix((mix((mix(1) + iteration) & MASK) + sample) & MASK) * TRAINED >> 64
            for sample in range(MICROBATCHES * EACH)]
    for first in range(0, len(rows), EACH):
        mean += (sum(rows[first:first + EACH]) / 1000 / EACH - mean) / 4
found = struct.unpack("<f", checkpoint.read(sys.argv[2])[1]["scale.mean"][2])[0]
assert abs(found - mean) < 1e-6, (found, mean)
print(f"the running mean is that of {sys.argv[3]} iterations")
