# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether two checkpoints are the same to the last bit, in however many files.

same-checkpoint.py ONE OTHER
"""

import sys

import checkpoint

(one_says, one), (other_says, other) = map(checkpoint.read, sys.argv[1:3])
if one_says != other_says:
    sys.exit(f"other metadata: {one_says} and {other_says}")
if one.keys() != other.keys():
    sys.exit(f"other names: {sorted(one.keys() ^ other.keys())}")
different = [name for name in one if one[name] != other[name]]
if different:
    sys.exit(f"other tensors: {different}")
