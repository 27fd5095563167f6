# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes images of 6 x 6 numbers with a bright quarter, and its number as label.

    images.py SAMPLES FILE
"""

import json
import random
import struct
import sys

samples, path = int(sys.argv[1]), sys.argv[2]
numbers = random.Random(1)
images, labels = [], []
for sample in range(samples):
    label = numbers.randrange(4)
    for y in range(6):
        for x in range(6):
            images.append(numbers.random() + (y // 3 * 2 + x // 3 == label))
    # One of eight has no label.
    labels.append(-100 if sample % 8 == 7 else label)
header = json.dumps({
    "images": {"dtype": "F32", "shape": [samples, 6, 6], "data_offsets": [0, 4 * len(images)]},
    "labels": {"dtype": "I64", "shape": [samples],
               "data_offsets": [4 * len(images), 4 * len(images) + 8 * len(labels)]},
}).encode()
header += b" " * (-len(header) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header)
    file.write(struct.pack(f"<{len(images)}f", *images))
    file.write(struct.pack(f"<{len(labels)}q", *labels))
