# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the mean cross-entropy of logits with the first loss of a log.

loss-of-logits.py LOGITS TEXT LOG

The targets are the text's bytes after the first.
"""

import json
import math
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    rows, vocab = json.loads(file.read(length))["logits"]["shape"]
    logits = struct.unpack(f"<{rows * vocab}f", file.read())
targets = open(sys.argv[2], "rb").read()[1:]
loss = 0
for row, target in enumerate(targets):
    values = logits[row * vocab : (row + 1) * vocab]
    loss += math.log(sum(map(math.exp, values))) - values[target]
loss /= len(targets)
logged = json.loads(open(sys.argv[3], encoding="utf-8").readline())["loss"]
if len(targets) != rows or not abs(loss - logged) <= 1e-5:
    sys.exit(f"{rows} rows, loss {loss}; logged {logged}")
print(f"{rows} tokens, loss {logged} is the same")
