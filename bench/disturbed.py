#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how much strangers slow down a run whose secret they do not know.

    bench/disturbed.py BUILD [--ranks N] [--iterations N] [--runs N]

A chain of timed layers, each task 5 ms long, trains as processes of this machine,
1F1B with eight micro-batches. In every other run, test/runtime/Inputs/strangers.py
calls the run's ports from the start to the end: with garbage, slowly, a thousand
times at once, with replayed handshakes, resets and absurd frames. Prints times of
iterations of both kinds of runs, the median of the ratios of runs behind each
other, rank 0's processor time, and what the strangers did. They have the lowest
priority, since elsewhere they would have processors of their own.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--ranks", type=int, default=2, metavar="N")
parser.add_argument("--iterations", type=int, default=40, metavar="N")
parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each kind")
options = parser.parse_args()
STRANGERS = pathlib.Path(__file__).parent.parent / "test/runtime/Inputs/strangers.py"
LAYER = ("synthetic<forward_ns = 5000000, input_grad_ns = 5000000, weight_grad_ns = 5000000, "
         "activation_bytes = 65536, output_bytes = 65536, weight_bytes = 65536>")


def plan():
    ranks = range(options.ranks)
    devices = " ".join(f"pipe.device @d{r}" for r in ranks)
    layers = " ".join(f"pipe.layer @l{r} {LAYER}" for r in ranks).rsplit("output_bytes = 65536", 1)
    stages = " ".join(f"pipe.stage @s{r} [@l{r}] on {r}" for r in ranks)
    return (f"pipe.cluster @c {{ {devices} }}\npipe.model @m {{ {'output_bytes = 0'.join(layers)} }}\n"
            f"pipe.plan @p of @m on @c microbatches(8) {{ {stages} }}\n"
            'pipe.schedule @chain of @p family<"1f1b">\n')


def run(folder, disturbed):
    """Milliseconds of each iteration, seconds of rank 0's processor time, and what strangers.py says."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    log = folder / "log"
    log.unlink(missing_ok=True)
    processes = []
    for rank in range(options.ranks):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(options.ranks), LOCAL_RANK=str(rank),
                   LOCAL_WORLD_SIZE=str(options.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                   OPENBLAS_NUM_THREADS="1", RONDO_SECRET="sixteen-letters.")
        command = [folder / "train", "--iterations", str(options.iterations), "--quiet", "--json-log", log]
        processes.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, text=True))
    strangers = None
    if disturbed:
        strangers = subprocess.Popen(["nice", "-n", "19", sys.executable, STRANGERS, "600", str(processes[0].pid)], text=True,
                                     stdout=subprocess.PIPE)
    errors, used = "", []
    for process in processes:
        errors += process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used.append(usage.ru_utime + usage.ru_stime)
    if any(process.returncode for process in processes):
        sys.exit(errors)
    # They end with the run.
    said = strangers.communicate()[0].strip() if strangers else ""
    times = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["ns"] / 1e6 for line in times if "ns" in line], used[0], said


def main(folder):
    (folder / "plan.mlir").write_text(plan())
    subprocess.run([options.build / "bin/rondo", "compile", folder / "plan.mlir", "-o", folder / "train"], check=True,
                   stdout=subprocess.DEVNULL)
    alone, disturbed, ratios, used, said = [], [], [], [], []
    for _ in range(options.runs):
        (quiet, before, _), (loud, after, text) = run(folder, False), run(folder, True)
        ratios.append(sum(loud) / sum(quiet))
        used.append((before, after))
        alone += quiet
        disturbed += loud
        said.append(text)
    print(f"{options.ranks} ranks, {options.runs} runs of {options.iterations} iterations of each kind, ms")
    for name, times in (("undisturbed", alone), ("disturbed", disturbed)):
        times.sort()
        print(f"{name:<12} mean {statistics.mean(times):.2f}, median {statistics.median(times):.2f}, "
              f"95 % within {times[int(0.95 * (len(times) - 1))]:.2f}, longest {times[-1]:.2f}")
    print(f"a disturbed run takes {100 * (statistics.median(ratios) - 1):+.1f} % "
          f"({100 * (min(ratios) - 1):+.1f} % to {100 * (max(ratios) - 1):+.1f} %)")
    print("processor time of rank 0: median %.2f s, disturbed %.2f s" % tuple(map(statistics.median, zip(*used))))
    print("\n".join(said))


with tempfile.TemporaryDirectory() as scratch:
    main(pathlib.Path(scratch))
