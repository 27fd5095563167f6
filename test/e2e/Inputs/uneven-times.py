# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the best iteration of a run of timed layers with the prediction. A busy machine makes
iterations longer, never shorter."""

import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
best, predicted = map(float, re.search(r"best ([0-9.]+) ms \(predicted ([0-9.]+) ms", text).groups())
ratio = best / predicted
print("the best iteration took", "as long as predicted" if 0.99 < ratio < 1.5 else f"{ratio:.2f} of the prediction")
