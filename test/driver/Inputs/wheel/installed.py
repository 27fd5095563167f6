# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""installed.py COMMAND FILE: the package that is installed finds its command COMMAND,
of the package's version, and that finds its runtime when it compiles FILE."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import rondo
from rondo.command import find_rondo

command = find_rondo()
assert os.path.samefile(command, sys.argv[1]), (command, sys.argv[1])
version = importlib.metadata.version("rondo-schedules")
for words in ([command], [sys.executable, "-m", "rondo"]):
    said = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split()[1] == version, (said.stdout, version)
assert (pathlib.Path(rondo.__file__).parent / "py.typed").exists()

stage = rondo.Stage(
    rank=0,
    forward_ns=3,
    input_grad_ns=0,
    weight_grad_ns=5,
    activation_bytes=1,
    input_grad_frees_bytes=0,
    output_bytes=0,
)
problem = rondo.Problem(name="one", microbatches=2, ranks=[rondo.Rank()], stages=[stage])
assert rondo.search(problem, effort=1).makespan_ns == 16

# The compiler's command names files of the wheel and no other library.
done = subprocess.run(
    [command, "compile", sys.argv[2], "-o", "none"],
    env={**os.environ, "CXX": "false"},
    capture_output=True,
    text=True,
    check=False,
)
(words,) = (l.split() for l in done.stderr.splitlines() if l.startswith("command: "))
runtime = pathlib.Path(command).resolve().parents[1] / "share" / "rondo"
archives = [word for word in words if word.endswith((".a", ".so"))]
names = ["librondo_runtime.a", "librondo_blas.a", "libsodium.a"]
assert archives == [f"{runtime}/lib/{name}" for name in names], archives
assert f"-I{runtime}/include" in words, words
