"""Prints a uniform plan: uniform-plan.py RANKS MICROBATCHES FAMILY."""

import sys

ranks, microbatches, family = int(sys.argv[1]), sys.argv[2], sys.argv[3]
print("pipe.cluster @lab link<latency_ns = 100> {")
for rank in range(ranks):
    print(f"  pipe.device @d{rank}")
print("}\npipe.model @timed {")
for rank in range(ranks):
    print(f"  pipe.layer @l{rank} synthetic<forward_ns = 1000, "
          "input_grad_ns = 1100, weight_grad_ns = 800, activation_bytes = 64, "
          "output_bytes = 64>")
print(f"}}\npipe.plan @step of @timed on @lab microbatches({microbatches}) {{")
for rank in range(ranks):
    print(f"  pipe.stage @s{rank} [@l{rank}] on {rank}")
print(f"}}\npipe.schedule @main of @step family<{family}>")
