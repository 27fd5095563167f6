# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of checks, and processes of runs over gloo on this machine: for PyTorch and for
the clients."""

import collections
import os
import subprocess
import sys
import time

counts = collections.Counter()
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "PYTHONWARNINGS": "ignore",
}


def check(is_good, what):
    counts["passed" if is_good else "failed"] += 1
    print(f"{'ok' if is_good else 'FAILED'}  {what}", flush=True)


def summary():
    """Prints the counts, and returns the exit status."""
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


def run_processes(program, folder, ranks, seconds, arguments=(), environment=None):
    """Runs `program folder arguments...` once for each rank: with its rank instead of
    "RANK" in the arguments, and in the environment. True if all ended well in time. All
    end here, come what may."""
    processes = []
    for rank in range(ranks):
        mine = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
        words = [str(rank) if word == "RANK" else str(word) for word in arguments]
        with open(folder / f"rank{rank}.log", "w") as log:
            processes.append(
                subprocess.Popen(
                    [sys.executable, str(program), str(folder), *words],
                    env={**ENVIRONMENT, **mine, **(environment or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
    end = time.monotonic() + seconds
    try:
        while any(p.poll() is None for p in processes):
            is_late = time.monotonic() > end
            if is_late or any(p.poll() not in (None, 0) for p in processes):
                break
            time.sleep(0.1)
        return all(p.poll() == 0 for p in processes)
    finally:
        # Others notice that one has failed; if not, they are stopped.
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def program_of(page, name):
    """The program of a page that is marked with a file's name, or None."""
    mark = f"```python {name}\n"
    text = page.read_text()
    return text.split(mark)[1].split("```")[0] if mark in text else None


def torchrun(words, folder, seconds, ranks=2, environment=None):
    """Runs `torchrun WORDS`: its status, what it printed, and its errors. The status is
    None if it did not end in time."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(ranks)]
    try:
        done = subprocess.run(
            [*command, *map(str, words)],
            cwd=folder,
            env={**ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "", f"no end within {seconds} s"
    return done.returncode, done.stdout, done.stderr
