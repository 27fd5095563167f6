# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in torch.distributed.pipelining: docs/pytorch.md.

`profile_stages` measures the stages of a model and makes a problem of them, and
`runtime` runs a schedule of it. All else is PyTorch's own.
"""

from ..run.versions import need

need("torch", 'pip install "torch>=2.7,<2.16"')

from .host import profile_host  # noqa: E402
from .profile import profile_stages  # noqa: E402
from .run import make_stages, placement, runtime  # noqa: E402

__all__ = ["make_stages", "placement", "profile_host", "profile_stages", "runtime"]
