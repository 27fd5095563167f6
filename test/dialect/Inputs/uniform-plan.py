# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a uniform plan: uniform-plan.py RANKS MICROBATCHES FAMILY [CHUNKS SHAPE].

SHAPE is looped, or wave if a rank's chunks go down and up in turn."""

import sys

ranks, microbatches, family = int(sys.argv[1]), sys.argv[2], sys.argv[3]
chunks = int(sys.argv[4]) if len(sys.argv) > 4 else 1
isWave = len(sys.argv) > 5 and sys.argv[5] == "wave"
stages = range(ranks * chunks)
print("pipe.cluster @lab link<latency_ns = 100> {")
for rank in range(ranks):
    print(f"  pipe.device @d{rank}")
print("}\npipe.model @timed {")
for stage in stages:
    print(f"  pipe.layer @l{stage} synthetic<forward_ns = 1000, "
          "input_grad_ns = 1100, weight_grad_ns = 800, activation_bytes = 64, "
          "output_bytes = 64>")
print(f"}}\npipe.plan @step of @timed on @lab microbatches({microbatches}) {{")
for stage in stages:
    rank = stage % ranks
    if isWave and stage // ranks % 2 == 1:
        rank = ranks - 1 - rank
    print(f"  pipe.stage @s{stage} [@l{stage}] on {rank}")
print(f"}}\npipe.schedule @main of @step family<{family}>")
