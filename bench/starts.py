#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how long a run of many processes takes from its start to its end, with and without a secret.

    bench/starts.py BUILD [--processes N] [--runs N]

A chain of timed layers of 1 us, a stage on each rank, trains for one iteration of
four micro-batches, so nearly all is starting, connecting and ending. Processes
are started as torchrun does, on this machine. Runs with and without a secret take
turns; prints medians of wall time and of the processor time of all processes,
and how much more those with a secret take: the median over the pairs.
"""

import argparse
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--processes", type=int, default=64, metavar="N")
parser.add_argument("--runs", type=int, default=20, metavar="N", help="with a secret, and as many without")
options = parser.parse_args()
COUNT = options.processes
LAYER = ("synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, "
         "weight_bytes = 4096>")


def plan():
    ranks = range(COUNT)
    devices, layers = (" ".join(text % r for r in ranks) for text in ("pipe.device @d%d", f"pipe.layer @l%d {LAYER}"))
    stages = " ".join(f"pipe.stage @s{r} [@l{r}] on {r}" for r in ranks)
    return (f"pipe.cluster @c {{ {devices} }}\npipe.model @m {{ {layers} }}\n"
            f"pipe.plan @p of @m on @c microbatches(4) {{ {stages} }}\n"
            'pipe.schedule @chain of @p family<"1f1b">\n')


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(program, rank, port, secret):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("SLURM_", "OMPI_", "PMI", "TORCHELASTIC", "RONDO_"))}
    env.update(RANK=str(rank), WORLD_SIZE=str(COUNT), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(COUNT),
               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OPENBLAS_NUM_THREADS="1")
    if secret:
        env["RONDO_SECRET"] = "sixteen-letters."
    return subprocess.Popen([program, "--iterations", "1", "--quiet"], env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL)


def run(program, secret):
    """Seconds of wall time and of processor time."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    port, begin, before = free_port(), time.monotonic(), used()
    processes = [start(program, rank, port, secret) for rank in range(COUNT)]
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit(f"exit codes {codes}")
    return time.monotonic() - begin, used() - before


def main(folder):
    (folder / "plan.mlir").write_text(plan())
    program = folder / "train"
    subprocess.run([options.build / "bin/rondo", "compile", folder / "plan.mlir", "-o", program], check=True,
                   stdout=subprocess.DEVNULL)
    run(program, False)  # The file is in memory now.
    pairs = [[run(program, secret) for secret in (False, True)] for _ in range(options.runs)]
    print(f"{COUNT} processes, {options.runs} runs each")
    for number, name in enumerate(["wall time", "processor time"]):
        without, with_it = ([pair[secret][number] for pair in pairs] for secret in (0, 1))
        more = statistics.median(b / a for a, b in zip(without, with_it)) - 1
        print(f"{name:<14} {statistics.median(without):.3f} s without a secret, "
              f"{statistics.median(with_it):.3f} s with one: {100 * more:+.1f} %")


with tempfile.TemporaryDirectory() as scratch:
    main(pathlib.Path(scratch))
