# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that Rondo's library does not have, as calls of PyTorch's own library."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Iterable

import torch

_HEADER = "include/torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h"
_TENSORS = {
    "AtenTensorHandle": ("rondo::torch::Tensor *", "rondo::torch::LibtorchTensor *"),
    "AtenTensorHandle*": ("rondo::torch::Tensor **", "rondo::torch::LibtorchTensor **"),
    "const AtenTensorHandle*": (
        "rondo::torch::Tensor *const *",
        "rondo::torch::LibtorchTensor *const *",
    ),
}
#: Types of arguments that are handed on as they are.
_OTHERS = re.compile(r"(const )?(int32_t|int64_t|double|char)\*{0,2}")


@cache
def _declared() -> dict[str, list[tuple[str, str]]]:
    """Types and names of the parameters of PyTorch's C functions."""
    text = (Path(torch.__file__).parent / _HEADER).read_text()
    found = {}
    for name, parameters in re.findall(r"AOTITorchError (aoti_torch_\w+)\((.*?)\);", text):
        parts = [p.rpartition(" ") for p in parameters.split(", ")]
        found[name] = [(kind, called) for kind, _, called in parts]
    return found


def has_bridge(name: str) -> bool:
    """Whether bridges() can call this function of libtorch."""
    kinds = [kind for kind, _ in _declared().get(name, [])]
    return bool(kinds) and all(k in _TENSORS or _OTHERS.fullmatch(k) for k in kinds)


def folder() -> Path:
    """Where libtorch_cpu.so is."""
    return Path(torch.__file__).parent / "lib"


def version() -> int:
    """The version of PyTorch as its aoti_torch_abi_version() has it, without the patch."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major) << 56 | int(minor) << 48


def bridges(names: Iterable[str]) -> str:
    """C++ of these functions, which call those of libtorch."""
    functions = [_bridge(name, _declared()[name]) for name in sorted(names)]
    return '#include "runtime/torch/libtorch.h"\n\n' + "".join(functions)


def _bridge(name: str, parameters: list[tuple[str, str]]) -> str:
    given, kinds, passed = [], [], []
    for kind, called in parameters:
        ours, theirs = _TENSORS.get(kind, (f"{kind} ", kind))
        given.append(f"{ours}{called}")
        kinds.append(theirs)
        if kind == "AtenTensorHandle":
            passed.append(f"call.tensor({called})")
        elif kind == "AtenTensorHandle*":
            how = "result" if re.fullmatch(r"ret\d+", called) else "optional"
            passed.append(f"call.{how}({called})")
        elif kind == "const AtenTensorHandle*":
            passed.append(f"call.list({called}, {called}_len_)")
        else:
            passed.append(called)
    return (
        f'extern "C" int32_t {name}({", ".join(given)}) {{\n'
        f'  rondo::torch::LibtorchCall call("{name}");\n'
        f"  const auto function = call.as<int32_t (*)({', '.join(kinds)})>();\n"
        f"  return call.finish(function ? function({', '.join(passed)}) : 1);\n}}\n"
    )


def check() -> str:
    """C++ that opens libtorch when a program starts."""
    return (
        f'  if (const char *what = rondo::torch::openLibtorch("{folder()}", {version()}ull))\n'
        "    return what;\n"
    )
