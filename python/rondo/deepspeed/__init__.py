# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in DeepSpeed: docs/deepspeed.md.

`PipelineModule` places layers as a schedule does, and `initialize` makes an engine whose
train_batch and eval_batch run it. `profile` measures its stages and searches. All else
is DeepSpeed's own.
"""

from ..run.versions import need

need("torch", "pip install torch==2.15.0")
need("deepspeed", "DS_BUILD_OPS=0 pip install --no-build-isolation deepspeed==0.19.8")

from .engine import PipelineEngine, initialize  # noqa: E402
from .module import PipelineModule  # noqa: E402
from .profile import profile  # noqa: E402

__all__ = ["PipelineEngine", "PipelineModule", "initialize", "profile"]
