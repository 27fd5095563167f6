# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The samples that a run of mean-label.mlir takes: sample s has label s.

    mean-label.py data FILE
    mean-label.py check LOG SEED

The second computes the numbers of the samples of each iteration by itself.
"""

import json
import struct
import sys

from splitmix import MASK, mix

SAMPLES, TRAINED, EACH = 1000, 900, 24

if sys.argv[1] == "data":
    header = {"labels": {"dtype": "I32", "shape": [SAMPLES], "data_offsets": [0, 4 * SAMPLES]}}
    text = json.dumps(header).encode()
    with open(sys.argv[2], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + struct.pack(f"<{SAMPLES}i", *range(SAMPLES)))
    sys.exit()

seed = int(sys.argv[3])
log = [event for event in map(json.loads, open(sys.argv[2], encoding="utf-8"))
       if "loss" in event and "iteration" in event]
for event in log:
    rows = [mix((mix((mix(seed) + event["iteration"]) & MASK) + sample) & MASK) * TRAINED >> 64
            for sample in range(EACH)]
    mean = sum(rows) / EACH
    assert abs(event["loss"] / mean - 1) < 1e-6, (event, mean)
print(f"{len(log)} iterations have the mean labels of their samples")
