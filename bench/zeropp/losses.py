#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains examples/gpt-sharded.mlir with its state in pieces and whole: losses.py RONDO [ITERATIONS [DATA]].

How far the losses are from those of a program that has each stage on one rank, as
parts of the loss: of ranks as threads and as processes over TCP, and, for comparison,
of the same two ranks a stage with all state in each. They all add in other orders,
so they differ by rounding. DATA is a text (default: the license texts of Debian).
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
ITERATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpt-sharded.mlir"
GOAL = 1e-5


def data(folder):
    if len(sys.argv) > 3:
        return pathlib.Path(sys.argv[3]).resolve()
    texts = sorted(path for path in pathlib.Path("/usr/share/common-licenses").rglob("*") if path.is_file() and not path.is_symlink())
    if not texts:
        raise SystemExit("/usr/share/common-licenses has no texts; name a file behind the iterations")
    path = folder / "data"
    path.write_bytes(b"".join(text.read_bytes() for text in texts))
    return path


def processes(program, arguments, count):
    """Runs a rank in each of `count` processes, as torchrun does; a free port is chosen by the kernel."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    running = []
    for rank in range(count):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=str(port))
        running.append(subprocess.Popen([program, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for process in running:
        text, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{program}: {text}")


def main():
    sharded = EXAMPLE.read_text()
    # With all samples on one rank the stages need more memory than the example allows.
    unlimited = sharded.replace("memory_bytes = 67108864, ", "")
    replicas = unlimited.replace(" sharded<weights>", "")
    whole = re.sub(r"on \[(\d), \d\]", r"on \1", replicas)
    if len({sharded, unlimited, replicas, whole}) < 4:
        raise SystemExit(f"{EXAMPLE}: stages are not written as this script expects")
    losses = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = data(folder)
        for what, source in (("whole", whole), ("replicas", replicas), ("sharded", sharded), ("sharded, TCP", sharded)):
            file, program, log = (folder / part for part in ("source.mlir", "train", "log"))
            file.write_text(source)
            plans.command(RONDO, "compile", file, "-o", program)
            arguments = [str(word) for word in ("--data", text, "--iterations", ITERATIONS, "--json-log", log, "--quiet")]
            if what.endswith("TCP"):
                processes(program, arguments, sharded.count("pipe.device"))
            else:
                plans.command(program, *arguments)
            losses[what] = [entry["loss"] for entry in map(json.loads, log.read_text().splitlines()) if "loss" in entry]
    print(f"{ITERATIONS} iterations; differences from whole state on one rank")
    print("state         largest   at  within 1e-5 until  last loss")
    for what, found in losses.items():
        if len(found) != ITERATIONS:
            raise SystemExit(f"{what}: {len(found)} losses of {ITERATIONS} iterations")
        apart = [abs(a / b - 1) for a, b in zip(found, losses["whole"])]
        until = next((i for i, part in enumerate(apart) if not part <= GOAL), len(apart))
        print(f"{what:12} {max(apart):8.1e} {apart.index(max(apart)) + 1:4} {until:18}  {found[-1]:.6f}")
    print("threads and processes:", "equal" if losses["sharded"] == losses["sharded, TCP"] else "not equal")


if __name__ == "__main__":
    main()
