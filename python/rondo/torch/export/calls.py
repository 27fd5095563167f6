# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which module of a layer calls which operation, for messages."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import private


def operation_of(target: Any) -> str:
    """aten.convolution for aten.convolution_backward.default."""
    name = ".".join(str(target).split(".")[:2])
    for suffix in ("_", "_backward", "_like"):
        name = name.removesuffix(suffix)
    return name


class Calls(TorchDispatchMode):
    """Within it, remembers the module that first calls each operation, and the one
    that first computes in each type."""

    def __init__(self) -> None:
        super().__init__()
        #: Paths of the modules whose forward runs, or of those that ran when an
        #: exception left it.
        self.stack: list[str] = []
        self.modules: dict[str | torch.dtype, str] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.modules.setdefault(operation_of(func), self.innermost())
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.modules.setdefault(result.dtype, self.innermost())
        return result

    def innermost(self) -> str:
        return self.stack[-1] if self.stack else ""

    @contextmanager
    def watch(self, module: torch.nn.Module) -> Iterator[None]:
        """Follows the calls of the module's parts."""
        self.stack.clear()

        def enter(path: str) -> Any:
            def begin(*_: Any) -> None:
                self.stack.append(path)
                private.trace_module(path)

            return begin

        def leave(*_: Any) -> None:
            self.stack.pop()
            private.trace_module(self.innermost())

        handles = []
        for path, part in module.named_modules():
            handles.append(part.register_forward_pre_hook(enter(path)))
            handles.append(part.register_forward_hook(leave))
        try:
            yield
        finally:
            private.trace_module(None)
            for handle in handles:
                handle.remove()


def place(layer: str, module: str) -> str:
    """Words for a module of a layer."""
    return f"layer '{layer}', module '{module}'" if module else f"layer '{layer}'"
