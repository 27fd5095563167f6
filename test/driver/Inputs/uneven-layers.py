#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a plan of 40 layers of uneven times on 4 ranks, of which no cut into three or four stages a rank meets the bound."""

times = [1000 + layer * layer * 7919 % 997 for layer in range(40)]
print("pipe.cluster @lab {", *(f"pipe.device @d{r}" for r in range(4)), "}")
print("pipe.model @timed {")
for layer, ns in enumerate(times):
    print(f"  pipe.layer @l{layer} synthetic<forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 8>")
print("}\npipe.plan @step of @timed on @lab microbatches(4) {")
for r in range(4):
    print(f"  pipe.stage @s{r} [" + ", ".join(f"@l{layer}" for layer in range(10 * r, 10 * r + 10)) + f"] on {r}")
print("}")
