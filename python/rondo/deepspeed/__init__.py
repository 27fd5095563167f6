# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in DeepSpeed: docs/deepspeed.md.

`PipelineModule` places layers as a schedule does, and `initialize` makes an engine whose
train_batch and eval_batch run it. `profile` measures its stages and searches. All else is DeepSpeed's own.
"""

from .engine import PipelineEngine, initialize
from .module import PipelineModule
from .profile import profile

__all__ = ["PipelineEngine", "PipelineModule", "initialize", "profile"]
