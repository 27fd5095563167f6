# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program whose rank stops, and prints how the others end.

    stopped-turn.py PROCESSES STOPPED PROGRAM ARGUMENTS...

Ends the stopped process once the others have ended.
"""

import socket
import subprocess
import sys

count, stopped = int(sys.argv[1]), int(sys.argv[2])
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    place = f"127.0.0.1:{probe.getsockname()[1]}"
processes = [
    subprocess.Popen(
        sys.argv[3:] + ["--world-size", str(count), "--rdzv", place, "--rank", str(r), "--local-rank", str(r)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for r in range(count)]
try:
    for rank, process in enumerate(processes):
        if rank == stopped:
            continue
        errors = process.communicate(timeout=60)[1]
        print(f"rank {rank} exit code {process.returncode}")
        print(errors, end="")
finally:
    for process in processes:
        process.kill()
