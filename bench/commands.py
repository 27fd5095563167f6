# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs other programs for benchmarks."""

import subprocess


def command(*words, folder=None):
    """The output of a command. One that fails ends the benchmark with its text."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout
