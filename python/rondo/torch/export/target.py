# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layers are compiled for: a device and the type of activations."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import torch

from .gpus import GPUS
from .refusal import Refusal

#: The words of rondo compile --dtype, and the numbers of rondo_body.h.
DTYPES = {torch.float32: ("fp32", 0), torch.bfloat16: ("bf16", 1)}


@dataclass(frozen=True)
class Target:
    """Layers on a CPU compute in fp32."""

    #: Of a GPU: 90 for sm_90. 0: a CPU.
    capability: int = 0
    #: Of activations, and of what tasks keep.
    dtype: torch.dtype = torch.float32

    @property
    def is_cuda(self) -> bool:
        return self.capability != 0

    @property
    def arch(self) -> str:
        return f"sm_{self.capability}"

    @property
    def runs_here(self) -> bool:
        """Whether this machine can run what is compiled, and so check it."""
        if not self.is_cuda:
            return True
        if not torch.cuda.is_available():
            return False
        major, minor = torch.cuda.get_device_capability()
        return 10 * major + minor == self.capability

    @property
    def has_copies(self) -> bool:
        """Whether graphs read copies of the weights in another type than fp32."""
        return self.dtype != torch.float32

    @property
    def where(self) -> str:
        """Words for messages."""
        return f"with dtype={self.dtype}" if self.is_cuda else "on the CPU"

    @property
    def attribute(self) -> str:
        """That of a plan."""
        return f"target<cuda, {DTYPES[self.dtype][0]}> " if self.is_cuda else ""

    @property
    def words(self) -> str:
        return "fp32" if not self.has_copies else "bf16 and fp32"

    @property
    def tolerance(self) -> float:
        """Largest difference that is taken for rounding, relative to a tensor's
        largest value."""
        return 1e-5 if not self.has_copies else 3e-2

    @property
    def options(self) -> list[str]:
        """Those of rondo compile for a program in C++."""
        return ["--target=cuda"] if self.is_cuda else []


def read_target(
    device: str, arch: str | None, dtype: torch.dtype | None
) -> Target:
    """The target that the arguments of an export name. Raises Refusal."""
    if device == "cpu":
        if arch is not None:
            raise Refusal(f"arch='{arch}' is for device='cuda'")
        if dtype not in (None, torch.float32):
            raise Refusal(
                f"dtype={dtype} is for device='cuda': on the CPU layers compute in fp32"
            )
        return Target()
    if device != "cuda":
        raise Refusal(f"device='{device}': it is 'cpu' or 'cuda'")
    dtype = torch.bfloat16 if dtype is None else dtype
    if dtype not in DTYPES:
        raise Refusal(
            f"dtype={dtype}: on a GPU layers compute in torch.bfloat16 or torch.float32"
        )
    known = ", ".join(f"sm_{c}" for c in GPUS)
    if torch.version.cuda is None or importlib.util.find_spec("triton") is None:
        raise Refusal(
            f"PyTorch {torch.__version__} here is not built for CUDA: pip install "
            "torch installs one that is"
        )
    if arch is None:
        if not torch.cuda.is_available():
            raise Refusal(
                "there is no GPU on this machine: name what the program is for, such as "
                f"arch='sm_90'; known: {known}"
            )
        major, minor = torch.cuda.get_device_capability()
        arch = f"sm_{major}{minor}"
    if arch not in known.split(", "):
        raise Refusal(f"arch='{arch}' is unknown; known: {known}")
    return Target(int(arch.removeprefix("sm_")), dtype)
