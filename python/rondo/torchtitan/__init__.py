# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in torchtitan: docs/torchtitan.md.

`use` puts a schedule into a job's configuration. All else is torchtitan's own.
"""

from .config import use

__all__ = ["use"]
