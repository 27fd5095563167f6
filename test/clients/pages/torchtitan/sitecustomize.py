# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for the page's program, before torchtitan is imported: the device, the
tokenizer and the data."""

import os
import sys

# Only in the processes of the run: others need no torch.
if "RANK" in os.environ and "torchelastic" not in sys.argv[0]:
    import torchtitan_job
    from torchtitan.models.llama3 import config_registry

    original = config_registry.llama3_debugmodel
    config_registry.llama3_debugmodel = lambda: torchtitan_job.prepared(original(), "outputs")
