# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rondo's schedules in torch.distributed.pipelining: docs/pytorch.md.

`profile_stages` measures the stages of a model and makes a problem of them, and
`runtime` runs a schedule of it. All else is PyTorch's own. `export_stages` compiles
layers for programs without Python: docs/export.md.
"""

from typing import Any

from ..run.versions import need

need("torch", 'pip install "torch>=2.7,<2.16"')

from .host import profile_host  # noqa: E402
from .profile import profile_stages  # noqa: E402
from .run import make_stages, placement, runtime  # noqa: E402

__all__ = [
    "export_stages",
    "make_stages",
    "placement",
    "profile_host",
    "profile_stages",
    "runtime",
]


def __getattr__(name: str) -> Any:
    # PyTorch's compiler is slow to import, and tied to one version.
    if name == "export_stages":
        from .export import export_stages

        return export_stages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
