#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how long processes take to save and to load a checkpoint, and what memory process 0 needs for it.

    bench/checkpoints.py BUILD FOLDER [--mib N] [--processes N] [--runs N]

A chain of timed layers with weights, one stage a process, trains for one iteration and
saves; another run loads that. In turn with them, `dd bs=1M conv=fsync` writes the same
bytes to the same folder. Files are dropped from the page cache before they are loaded.
FOLDER gets four times the bytes, and is empty again at the end. Prints medians, and
their ratio to dd's. Saving is timed between two lines of output; loading is what the
first line comes later than in a run without --resume.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--mib", type=int, default=2048, metavar="N", help="size of the checkpoint")
parser.add_argument("--processes", type=int, default=4, metavar="N")
parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each kind")
options = parser.parse_args()
COUNT, LAYERS = options.processes, 8
# Weights and two moments, on pages.
WEIGHTS = options.mib * 2**20 // (3 * COUNT * LAYERS) // 4096 * 4096


def plan():
    layer = (f"synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, "
             f"weight_bytes = {WEIGHTS}>")
    devices = " ".join(f"pipe.device @d{r}" for r in range(COUNT))
    layers = " ".join(f"pipe.layer @l{i} {layer}" for i in range(COUNT * LAYERS))
    stages = " ".join(f"pipe.stage @s{r} [{', '.join(f'@l{r * LAYERS + i}' for i in range(LAYERS))}] on {r}"
                      for r in range(COUNT))
    return (f"pipe.cluster @c {{ {devices} }}\npipe.model @m {{ {layers} }}\n"
            f"pipe.plan @p of @m on @c microbatches(2) {{ {stages} }}\n"
            'pipe.schedule @chain of @p family<"1f1b">\n')


def peak_of(process):
    """The most memory that it has had so far, in bytes; 0: it has ended."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else 0


def run(program, words):
    """Process 0's lines with their times since the start, and its peaks of memory when they came."""
    lines, peak = [], [0]
    with tempfile.TemporaryDirectory() as meeting:
        begin = time.monotonic()
        processes = [subprocess.Popen([program, *map(str, words), "--rank", str(r), "--local-rank", str(r),
                                       "--world-size", str(COUNT), "--rdzv", f"file://{meeting}/at"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                     for r in range(COUNT)]

        def watch():
            while processes[0].poll() is None:
                peak[0] = max(peak[0], peak_of(processes[0]))
                time.sleep(0.01)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for line in processes[0].stdout:
            lines.append((time.monotonic() - begin, line, max(peak[0], peak_of(processes[0]))))
        watcher.join()
        if any([process.wait() for process in processes]):
            sys.exit(f"exit codes {[process.returncode for process in processes]}")
    return lines


def at(lines, text):
    return next(line for line in lines if line[1].startswith(text))


def drop(paths):
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def main(folder):
    (folder / "plan.mlir").write_text(plan(), encoding="ascii")
    program = folder / "train"
    subprocess.run([options.build / "bin/rondo", "compile", folder / "plan.mlir", "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    save, plain, copy = folder / "m.safetensors", folder / "bytes", folder / "copy"
    seconds = {name: [] for name in ("dd", "save", "load", "start")}
    over_arena, over_before = [], []
    for turn in range(options.runs + 1):
        lines = run(program, ["--iterations", "1", "--save", save])
        before, after = at(lines, "measured iteration"), at(lines, "saved iteration")
        arena = int(re.search(r"(\d+) allocated", "".join(line for _, line, _ in lines))[1]) // COUNT
        shards = sorted(folder.glob("m-*.safetensors"))
        if not plain.exists():
            with open(plain, "wb") as out:
                for shard in shards:
                    with open(shard, "rb") as file:
                        shutil.copyfileobj(file, out, 1 << 20)
            drop([plain])
        subprocess.run(["cat", plain], check=True, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        subprocess.run(["dd", f"if={plain}", f"of={copy}", "bs=1M", "conv=fsync", "status=none"], check=True)
        dd = time.monotonic() - begin
        copy.unlink()
        start = run(program, ["--iterations", "2"])[0][0]
        drop(shards)
        load = run(program, ["--iterations", "2", "--resume", save])[0][0] - start
        if turn == 0:
            continue  # Not measured: the files are new.
        for name, value in (("dd", dd), ("save", after[0] - before[0]), ("load", load), ("start", start)):
            seconds[name].append(value)
        over_arena.append(after[2] - arena)
        over_before.append(after[2] - before[2])
    total = sum(shard.stat().st_size for shard in shards)
    print(f"{total / 2**20:.0f} MiB of {COUNT} processes, {options.runs} runs of each kind in turn")
    base = statistics.median(seconds["dd"])
    for name in ("dd", "save", "load"):
        values = seconds[name]
        print(f"{name:<5} {statistics.median(values):7.2f} s  {min(values):.2f} to {max(values):.2f} s  "
              f"{statistics.median(values) / base:.2f} of dd")
    print(f"process 0 while saving: at most {max(over_arena) / 2**20:.1f} MiB over its arena, "
          f"{max(over_before) / 2**20:.1f} MiB over its peak before")


home = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
try:
    main(home)
finally:
    shutil.rmtree(home)
