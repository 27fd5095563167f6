# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs from PyTorch modules: see docs/export.md."""

from .model import Model, read_model
from .random_numbers import HashedRandom
from .refusal import Refusal
from .stages import export_stages

__all__ = ["HashedRandom", "Model", "Refusal", "export_stages", "read_model"]
