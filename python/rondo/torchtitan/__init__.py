# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in torchtitan: docs/torchtitan.md.

`use` puts a schedule into a job's configuration; `profile` measures the stages of
a job and searches. All else is torchtitan's own.
"""

from ..run.versions import need

need("torch", "pip install torch==2.15.0")
need("torchtitan", "pip install torchtitan==0.3.0")

from .config import use  # noqa: E402
from .profile import profile  # noqa: E402

__all__ = ["profile", "use"]
