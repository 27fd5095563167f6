# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in Megatron Core: docs/megatron.md.

`build` makes the model chunks of a rank for any placement, and `use` puts a schedule in
the place of Megatron's own; `forward_backward` is the function that runs it. `profile`
measures the chunks and searches.
"""

from ..run.versions import need

need("torch", "pip install torch==2.15.0")
need(
    "megatron.core",
    "pip install --no-deps --ignore-requires-python megatron-core==0.19.2 packaging",
)

from .chunks import build, layout_of  # noqa: E402
from .profile import profile  # noqa: E402
from .schedule import forward_backward, use  # noqa: E402

__all__ = ["build", "forward_backward", "layout_of", "profile", "use"]
