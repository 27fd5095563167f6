# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems of a chain in which a message occupies its link for a time c.

    chain.py STAGES MICROBATCHES C...

Writes a rondo-problem/1 line for each c. A forward takes 1, a backward 2, and
each micro-batch 1 byte; times are in units of 4 ns, to make quarters whole.
"""

import json
import sys

stages, microbatches = int(sys.argv[1]), int(sys.argv[2])
for c in sys.argv[3:]:
    stage = {"forward_ns": 4, "input_grad_ns": 4, "weight_grad_ns": 4, "activation_bytes": 1,
             "input_grad_frees_bytes": 0, "output_bytes": int(4 * float(c))}
    print(json.dumps({
        "format": "rondo-problem/1",
        "name": f"c={c}",
        "microbatches": microbatches,
        "ranks": [{"memory_bytes": None}] * stages,
        "stages": [{"rank": s, **stage} for s in range(stages)],
        "link": {"latency_ns": 0, "bytes_per_us": 1000},
    }))
