# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in Megatron Core: docs/megatron.md.

`build` makes the model chunks of a rank for any placement, and `use` puts a schedule in
the place of Megatron's own; `forward_backward` is the function that runs it. `profile` measures
the chunks and searches.
"""

from .chunks import build, layout_of
from .profile import profile
from .schedule import forward_backward, use

__all__ = ["build", "forward_backward", "layout_of", "profile", "use"]
