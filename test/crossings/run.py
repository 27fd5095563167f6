# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that a case runs in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from plans import Plan

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime" / "Inputs"))
import checkpoint  # noqa: E402

SECONDS = 120


class Stopped(Exception):
    """A command that ended with an error, which it wrote."""

    def __init__(self, command: list[str], status: int, output: str) -> None:
        super().__init__(f"{' '.join(command)}: status {status}\n{output}")
        self.status = status
        self.output = output


class Wrong(Exception):
    """A command that ended well with a result that is not right."""


def wait(processes: list[tuple[list[str], subprocess.Popen[str]]]) -> str:
    """The standard output of the first; an error of any of them."""
    ended = []
    for command, process in processes:
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            for _, other in processes:
                other.kill()
            raise Wrong(f"{' '.join(command)}: no end after {SECONDS} s") from None
        ended.append((command, process.returncode, output, errors))
    # A process that ends because another failed says so; the first error explains more.
    failed = [end for end in ended if end[1] != 0]
    if failed:
        command, status, _, errors = failed[0]
        raise Stopped(command, status, errors)
    return ended[0][2]


@dataclass(eq=False)
class Toolbox:
    """The programs of a build."""

    rondo: Path
    libraries: dict[str, Path]
    mpirun: list[str]
    # What the C++ compiler takes to run a GPU program on the CPU.
    emulation: list[str]
    folder: Path
    references: dict[tuple[str, ...], list[float]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def losses_on_one_rank(self, plan: Plan, flags: tuple[str, ...]) -> list[float]:
        """Each model and its flags are run once."""
        text = plan.on_one_rank()
        with self.lock:
            if (text, *flags) not in self.references:
                folder = self.folder / "one-rank"
                run = Run(self, folder, plan, text)
                run.compile()
                self.references[(text, *flags)] = run.losses(*flags)
                shutil.rmtree(folder)
            return self.references[(text, *flags)]


class Run:
    """A file in a folder, and what is done with it."""

    def __init__(self, tools: Toolbox, folder: Path, plan: Plan, text: str | None = None) -> None:
        self.tools = tools
        self.folder = folder
        self.plan = plan
        self.asynchronous = False
        self.compile_flags: list[str] = []
        self.train_flags: list[str] = []
        self.launch = "threads"
        folder.mkdir(parents=True)
        self.file = folder / "plan.mlir"
        self.file.write_text(plan.text() if text is None else text)
        self.data = tools.folder / "text"

    def path(self, name: str) -> Path:
        return self.folder / name

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )

    def command(self, command: list[str]) -> str:
        return wait([(command, self.start(command))])

    def rondo(self, *arguments: object) -> str:
        return self.command([str(self.tools.rondo), *map(str, arguments)])

    def library_flags(self) -> list[str]:
        return [flag for name in self.plan.libraries for flag in ("--library", str(self.tools.libraries[name]))]

    def compile(self, *flags: object, file: Path | None = None, output: str = "train") -> None:
        if self.launch == "mpi":
            flags = (*flags, "--transport=mpi")
        self.rondo("compile", file or self.file, *self.library_flags(), *self.compile_flags, *flags, "-o", output)

    def train(self, *flags: object, program: str = "train") -> str:
        """Runs the program in the way that the case asks for."""
        command = [str(self.path(program)), *self.train_flags, *map(str, flags)]
        if self.launch == "mpi":
            return self.command([*self.tools.mpirun, str(self.plan.ranks), *command])
        if self.launch == "tcp":
            return self.processes(command)
        return self.command(command)

    def processes(self, command: list[str]) -> str:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        started = []
        for rank in range(self.plan.ranks):
            one = [*command, "--rank", str(rank), "--world-size", str(self.plan.ranks), "--rdzv", f"127.0.0.1:{port}"]
            started.append((one, self.start(one)))
        return wait(started)

    def losses(self, *flags: object, program: str = "train") -> list[float]:
        log = self.path("log")
        self.train("--data", self.data, "--iterations", 3, "--quiet", "--json-log", log, *flags, program=program)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["loss"] for line in lines if "loss" in line]

    def verify(self, *flags: object, program: str = "train") -> None:
        output = self.train("--verify", "--quiet", *flags, program=program)
        if "verify: PASS" not in output:
            raise Wrong(f"--verify printed {output}")

    def check_losses(self, *flags: object, program: str = "train") -> None:
        """The losses are those of the model on one rank; if iterations overlap, the first."""
        found = self.losses(*flags, program=program)
        expected = self.tools.losses_on_one_rank(self.plan, tuple(self.train_flags))
        count = 1 if self.asynchronous else 3
        for one, other in list(zip(found, expected))[:count]:
            # Written so that NaN fails too.
            if not abs(one - other) <= 2e-4:
                raise Wrong(f"losses {found}, on one rank {expected}")
        if len(found) < count:
            raise Wrong(f"losses {found}, on one rank {expected}")

    def check_processes(self) -> None:
        """Processes write the bytes that threads do."""
        if self.launch == "threads":
            return
        saved = {}
        for launch in ("threads", self.launch):
            self.launch, path = launch, self.path(f"{launch}.safetensors")
            self.compile()
            self.train("--data", self.data, "--iterations", 2, "--quiet", "--save", path)
            saved[launch] = checkpoint.read(path)
        if saved["threads"] != saved[self.launch]:
            raise Wrong(f"files of threads and {self.launch} differ")

    def check(self, *flags: object, file: Path | None = None, program: str = "train") -> None:
        """Compiles, verifies and trains."""
        self.compile(*flags, file=file, output=program)
        self.verify(program=program)
        self.check_losses(program=program)
        self.check_processes()


def environment() -> None:
    """What tests of programs set: one thread of BLAS a rank, code that is made at once."""
    os.environ.update(
        OPENBLAS_NUM_THREADS="1",
        RONDO_CXXFLAGS="-O0",
        RONDO_SECRET="crossings-of-features",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
