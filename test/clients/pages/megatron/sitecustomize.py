# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for the page's program: what Megatron Core asks of CUDA."""

import os

# Only in the processes of the run.
if "RANK" in os.environ:
    import megatron_cpu

    megatron_cpu.prepare()
