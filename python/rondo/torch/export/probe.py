# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs probes (runtime/torch/probe.cpp) on memory that they share with this process."""

from __future__ import annotations

import mmap
import os
import subprocess
from pathlib import Path
from typing import Sequence

import torch

from .body import aligned


class ProbeMemory:
    """What a probe takes as a file: lines, an empty one, and aligned contents, here in
    memory that it maps. `contents` are the bytes of each line's part."""

    def __init__(self, lines: Sequence[str], sizes: Sequence[int]):
        head = "".join(line + "\n" for line in lines).encode() + b"\n"
        begin = aligned(len(head))
        self.file = os.memfd_create("rondo-probe")
        try:
            end = begin + sum(map(aligned, sizes))
            os.ftruncate(self.file, end)
            memory = mmap.mmap(self.file, end)
        except OSError:
            self.close()
            raise
        memory[: len(head)] = head
        self.contents: list[torch.Tensor] = []
        for size in sizes:
            self.contents.append(
                torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=begin)
                if size
                else torch.empty(0, dtype=torch.uint8)
            )
            begin += aligned(size)

    def run(self, program: Path, command: str, name: str, *arguments: str) -> str:
        """What the probe prints. Raises RuntimeError if it fails."""
        done = subprocess.run(
            [str(program), command, *name.split(), f"/proc/self/fd/{self.file}", *arguments],
            capture_output=True,
            text=True,
            check=False,
            pass_fds=[self.file],
        )
        if done.returncode != 0:
            # Lines that a graph itself prints come first.
            lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise RuntimeError(lines[-1].removeprefix("error: "))
        return done.stdout

    def close(self) -> None:
        """`contents` stay."""
        os.close(self.file)


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The content of a tensor in order, as bytes."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
