# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads checkpoints of programs: see docs/checkpoints.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch


class Checkpoint:
    """A checkpoint that one process has written, or several: then `file` is the one
    of --save, next to which its index lies, or the index."""

    def __init__(self, file: str | os.PathLike[str]):
        self.path = Path(file)
        self.metadata: dict[str, str] = {}
        self._file_of: dict[str, Any] = {}
        suffix = ".index.json"
        if self.path.exists() and not self.path.name.endswith(suffix):
            opened = _open(self.path)
            self.metadata = opened.metadata() or {}
            self._file_of = dict.fromkeys(opened.keys(), opened)
            return
        index = self.path
        if not index.name.endswith(suffix):
            index = index.with_name(index.name + suffix)
        if not index.exists():
            raise FileNotFoundError(f"there is neither '{self.path}' nor '{index}'")
        described = json.loads(index.read_text())
        self.metadata = described.get("metadata", {})
        names = described["weight_map"]
        files = {name: _open(index.parent / name) for name in set(names.values())}
        self._file_of = {tensor: files[name] for tensor, name in names.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    def tensor(self, name: str, like: torch.Tensor) -> torch.Tensor:
        """A tensor of the sizes of `like`."""
        if name not in self._file_of:
            raise ValueError(f"'{self.path}' has no tensor '{name}'")
        found = self._file_of[name].get_tensor(name)
        # A number is stored as a tensor of one element.
        if list(found.shape) != (list(like.shape) or [1]):
            raise ValueError(
                f"'{self.path}': tensor '{name}' is {list(found.shape)}, and the "
                f"module's {list(like.shape)}: load it into the model that was exported"
            )
        return found.reshape(like.shape)


def _open(path: Path) -> Any:
    from safetensors import safe_open

    return safe_open(path, "pt")
