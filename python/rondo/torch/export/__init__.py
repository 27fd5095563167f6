# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs from PyTorch modules: see docs/export.md.

export_stages() in stages.py has the steps in their order. Each layer is traced with its
gradients (joint.py), divided into F, I and W (cut.py, tasks.py), compiled (compile.py),
run once to record its allocations (record.py), and compared with PyTorch (check.py).
Then library.py writes its tables and mlir.py the program. The tables are those of
runtime/torch/rondo_torch.h.
"""

from .model import Model, read_model
from .random_numbers import HashedRandom
from .refusal import Refusal
from .stages import export_stages

__all__ = ["HashedRandom", "Model", "Refusal", "export_stages", "read_model"]
