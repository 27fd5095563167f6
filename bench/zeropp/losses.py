#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains examples/gpt-sharded.mlir with its sharded state and whole: losses.py RONDO [ITERATIONS [DATA]].

How far the losses are from those of a program that has each stage on one rank, as
parts of the loss: of ranks as threads and as processes over TCP, and, for comparison,
of the same two ranks a stage with all state in each. They all add in other orders,
so they differ by rounding. How far rounding alone goes is shown by the program itself,
which has one rank a stage, from weights that are the same but for the last bits of
some, three times. DATA is a text (default: the license texts of Debian).
"""

import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
ITERATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gpt-sharded.mlir"
GOAL = 1e-5
NUDGES = 3


def data(folder):
    if len(sys.argv) > 3:
        return pathlib.Path(sys.argv[3]).resolve()
    texts = sorted(path for path in pathlib.Path("/usr/share/common-licenses").rglob("*") if path.is_file() and not path.is_symlink())
    if not texts:
        raise SystemExit("/usr/share/common-licenses has no texts; name a file after the iterations")
    path = folder / "data"
    path.write_bytes(b"".join(text.read_bytes() for text in texts))
    return path


def processes(program, arguments, count, folder):
    """Runs a rank in each of `count` processes, which meet in a file of the folder."""
    running = []
    for rank in range(count):
        own = ["--rank", str(rank), "--world-size", str(count), "--local-rank", str(rank), "--rdzv", f"file://{folder}/meeting"]
        running.append(subprocess.Popen([program, *arguments, *own], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    failed = [text for text, process in [(p.communicate()[0], p) for p in running] if process.returncode != 0]
    if failed:
        raise SystemExit(f"{program}: {failed[0]}")


def nudge(start, folder, seed):
    """The file with the last bit of each number turned, or not, at random."""
    contents = bytearray(start.read_bytes())
    (size,) = struct.unpack("<Q", contents[:8])
    header = json.loads(contents[8 : 8 + size])
    draw = random.Random(seed)
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            # The lowest byte of each number comes first.
            for place in range(8 + size + begin, 8 + size + end, 4):
                contents[place] ^= draw.getrandbits(1)
    if contents == start.read_bytes():
        raise SystemExit(f"{start} has no weights in fp32")
    nudged = folder / f"nudged-{seed}"
    nudged.write_bytes(contents)
    return nudged


def losses_of(log):
    return [entry["loss"] for entry in map(json.loads, log.read_text().splitlines()) if "loss" in entry]


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
            run = [str(word) for word in ("--data", text, "--iterations", ITERATIONS, "--json-log", log, "--quiet")]
            if what.endswith("TCP"):
                processes(program, run, sharded.count("pipe.device"), folder)
            else:
                plans.command(program, *run)
            losses[what] = losses_of(log)
            if what != "whole":
                continue
            start = folder / "start"
            plans.command(program, "--data", str(text), "--iterations", "1", "--lr", "0", "--min-lr", "0", "--quiet", "--save", str(start))
            for seed in range(1, NUDGES + 1):
                plans.command(program, *run, "--init", str(nudge(start, folder, seed)))
                losses[f"last bits, {seed}"] = losses_of(log)
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
