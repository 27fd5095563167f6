# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles graphs to object files, once for each different graph."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Sequence

import torch

from . import private, private_cuda
from .attention import DECLARATIONS
from .body import Task
from .refusal import Refusal
from .target import Target

#: Raised when the meaning of an object file changes.
_VERSION = 2
_HEADERS = {
    False: (
        "torch/csrc/inductor/aoti_include/cpu.h",
        "torch/csrc/inductor/aoti_runtime/interface.h",
        "torch/csrc/inductor/aoti_runtime/model_container.h",
        "torch/csrc/inductor/cpp_prefix.h",
    ),
    True: (
        "torch/csrc/inductor/aoti_include/cuda.h",
        "torch/csrc/inductor/aoti_runtime/interface.h",
        "torch/csrc/inductor/aoti_runtime/model_container.h",
    ),
}
#: What an object file defines, with its name before it, by whether it is for CUDA.
_GENERATED = {
    False: {"AOTInductorModelCreateV2": "create", "AOTInductorModelRun": "run"},
    True: {
        "AOTInductorModelContainerCreateWithDevice": "create",
        "AOTInductorModelContainerRunSingleThreaded": "run",
        "AOTInductorModelContainerDelete": "remove",
        "AOTInductorGetLastError": "error",
    },
}


_OPERATIONS = ("aoti_torch_cpu_", "aoti_torch_cuda_", "Sleef_")


@dataclass
class Compiled:
    """An object file that defines NAME_create and NAME_run, and for CUDA NAME_remove
    and NAME_error."""

    name: str
    path: Path

    @cached_property
    def functions(self) -> frozenset[str]:
        """PyTorch's C functions that the graph calls."""
        return _functions(self.path)


def compiled_task(task: Task, cache: Path, target: Target) -> Compiled:
    """The object file of a task's graph, which compile_tasks() makes."""
    name = f"rondo_graph_{_key(task, target)}"
    return Compiled(name, cache / f"{name}.o")


def compile_tasks(tasks: Sequence[Task], cache: Path, target: Target) -> None:
    """Compiles graphs that are not in the cache, equal ones once.

    PyTorch generates their code one after the other, while compilers run on all
    processors.
    """
    cache.mkdir(parents=True, exist_ok=True)
    running: dict[str, Future[None]] = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for task in tasks:
            made = compiled_task(task, cache, target)
            if made.name in running or made.path.exists():
                continue
            source, how, others = _generate(task, target)
            command = _command(how, target)
            headers = _precompiled(command, cache, target)
            command += ["-include", str(headers), "-c", str(source)]
            running[made.name] = pool.submit(_compile, command, others, made, target)
    for future in running.values():
        future.result()


def _generate(task: Task, target: Target) -> tuple[Path, dict[str, Any], list[Path]]:
    assert task.module is not None
    given = examples(task)
    in_place = task.kind not in ("W", "B")
    if target.is_cuda:
        try:
            return private_cuda.generate(
                task.module, given, in_place, target.capability
            )
        except private_cuda.AtomicSums as error:
            raise Refusal(
                f"{task.kind} of a layer adds by atomics in kernel '{error}': their order, "
                "and so the bits, would differ from run to run; use another operation"
            ) from None
    return private.generate(task.module, given, in_place)


def _key(task: Task, target: Target) -> str:
    assert task.module is not None
    described = [
        str(_VERSION),
        torch.__version__,
        private_cuda.described(target.capability) if target.is_cuda else level(),
        task.kind,
        task.module.code,
        *(f"{p.shape} {p.strides} {p.dtype}" for p in task.inputs),
    ]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:16]


def examples(task: Task) -> list[torch.Tensor]:
    """Inputs of the task's graph, with all elements 0."""
    found = []
    for placed in task.inputs:
        # Integers are indices, mostly; 0 is always one.
        tensor = torch.zeros(placed.nbytes // placed.dtype.itemsize, dtype=placed.dtype)
        found.append(tensor.as_strided(placed.shape, placed.strides))
    return found


def _compile(
    command: Sequence[str], others: Sequence[Path], made: Compiled, target: Target
) -> None:
    with tempfile.TemporaryDirectory(dir=made.path.parent) as folder:
        work = Path(folder)
        object_file = work / "graph.o"
        _call([*command, "-o", str(object_file)])
        joined = work / "joined.o"
        # All graphs define the same C functions and C++ classes: what is not
        # renamed becomes the object's own.
        _call(
            ["ld", "-r", "-z", "noexecstack", "--force-group-allocation"]
            + ["-o", str(joined), str(object_file), *map(str, others)]
        )
        renames = []
        for old, word in _GENERATED[target.is_cuda].items():
            new = f"{made.name}_{word}"
            renames += ["--redefine-sym", f"{old}={new}", f"--keep-global-symbol={new}"]
        _call(["objcopy", "--strip-debug", *renames, str(joined)])
        # Another process may have made the same file by now.
        os.replace(joined, made.path)


def _command(how: dict[str, Any], target: Target) -> list[str]:
    """How generated code is compiled: as PyTorch does, but without what only its own
    tools need, and for every processor with the same vectors, not for this one. For
    CUDA it only launches kernels."""
    unneeded = ("g1", "fopenmp", "Wall", "pedantic", "Wno-unused-variable")
    flags = [f for f in how["cflags"] if f not in (*unneeded, "march=native")]
    return [
        os.environ.get("CXX", "g++"),
        *(f"-{flag}" for flag in flags),
        *(("-O1",) if target.is_cuda else (f"-march={level()}",)),
        # A unique symbol could not be made an object's own.
        "-fno-gnu-unique",
        "-w",
        *(f"-D{d.strip()}" for d in how["definitions"] if "PRECOMPILE" not in d),
        *(f"-I{folder}" for folder in how["include_dirs"]),
    ]


def level() -> str:
    """The instructions that compiled graphs need, as compilers call them."""
    words = private.instruction_set()
    for name, found in (("avx512", "x86-64-v4"), ("avx2", "x86-64-v3")):
        if name in words:
            return found
    raise Refusal(
        f"this processor has vectors of '{words}': graphs are compiled for AVX2 or "
        "AVX-512"
    )


def _precompiled(command: list[str], cache: Path, target: Target) -> Path:
    """A header with all that generated code includes, compiled once."""
    text = "".join(f"#include <{name}>\n" for name in _HEADERS[target.is_cuda])
    text += DECLARATIONS if target.is_cuda else ""
    described = " ".join([torch.__version__, *command, text])
    key = hashlib.sha256(described.encode()).hexdigest()
    header = cache / f"headers_{key[:16]}.h"
    compiled = header.with_suffix(".h.gch")
    if not compiled.exists():
        header.write_text(text)
        made = f"{compiled}.{os.getpid()}"
        _call([*command, "-x", "c++-header", str(header), "-o", made])
        os.replace(made, compiled)
    return header


def _call(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in lines if "error" in line] or lines
        raise RuntimeError(
            f"{command[0]} failed: {errors[0] if errors else done.returncode}"
        )
    return done.stdout


def _functions(path: Path) -> frozenset[str]:
    names = _call(["nm", "-u", str(path)]).split()
    return frozenset(
        n for n in names if n.startswith(("aoti_torch_", "Sleef_", "aoti_record_"))
    )


def operations_of(
    compiled: Compiled, among: frozenset[str] | set[str] | None = None
) -> list[str]:
    """The operations among the functions that a graph calls, or among these."""
    prefix = "aoti_torch_"
    functions = compiled.functions if among is None else compiled.functions & among
    return sorted(
        f.removeprefix(prefix).removeprefix("cpu_").removeprefix("cuda_")
        for f in functions
        if among is not None or f.startswith(_OPERATIONS)
    )
