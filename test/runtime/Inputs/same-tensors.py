# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the tensors of two checkpoints by name and bytes."""

import sys

import checkpoint

left, right = (checkpoint.read(path)[1] for path in sys.argv[1:3])
if left.keys() != right.keys():
    sys.exit("other names: %s" % sorted(left.keys() ^ right.keys()))
different = [name for name in left if left[name] != right[name]]
if different:
    sys.exit("other tensors: %s" % different)
print("%d tensors are the same" % len(left))
