# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in torch.distributed.pipelining: docs/pytorch.md.

`profile_stages` measures the stages of a model and makes a problem of them, and
`runtime` runs a schedule of it. All else is PyTorch's own.
"""

from .host import profile_host
from .profile import profile_stages
from .run import make_stages, placement, runtime

__all__ = ["make_stages", "placement", "profile_host", "profile_stages", "runtime"]
