# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two problems whose LOAD of one micro-batch takes other bytes than SAVE frees: listed, and by size."""

import json


def problem(load):
    costs = {
        "F": {"ns": 3, "takes_bytes": 4},
        "I": {"ns": 3},
        "W": {"ns": 3, "frees_bytes": 4},
        "SAVE": {"ns": 2, "frees_bytes": 4},
        "LOAD": {"ns": 2, **load},
    }
    return {
        "format": "rondo-problem/2",
        "name": "unequal",
        "microbatches": 3,
        "sizes": [[4], [2], [4]],
        "ranks": [{"memory_bytes": 8}],
        "stages": [{"replicas": [{"rank": 0}], "costs": costs}],
        "edges": [],
    }


for load in ({"takes_bytes_by_index": [4, 4, 3]}, {"takes_bytes": {"per_size": [1]}}):
    print(json.dumps(problem(load)))
