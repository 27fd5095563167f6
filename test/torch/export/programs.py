# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs exported programs, and counts checks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Sequence

#: A constant learning rate of 1e-3.
CONSTANT_RATE = ("--lr", "1e-3", "--min-lr", "1e-3", "--warmup", "0")


class Checks:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, name: str, holds: bool, what: str = "") -> None:
        self.passed += holds
        self.failed += not holds
        print(f"{'ok' if holds else 'FAILED'} {name}{': ' if what else ''}{what}", flush=True)


def contents(path: Path) -> dict[str, bytes]:
    """The bytes of all tensors of a checkpoint: a file, or the files of an index."""
    index = path.with_name(f"{path.name}.index.json")
    if index.exists():
        names = set(json.loads(index.read_text())["weight_map"].values())
        return {n: t for name in names for n, t in contents(index.parent / name).items()}
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    return {
        name: raw[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
        for name, entry in json.loads(raw[8:begin]).items()
        if name != "__metadata__"
    }


def losses_of(log: Path) -> list[float]:
    entries = map(json.loads, log.read_text().splitlines())
    return [entry["loss"] for entry in entries if "loss" in entry]


def run_processes(
    command: Sequence[str], processes: int, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Runs a program as one process, or one a rank, which meet in a file; what the
    first that failed has written, or else process 0."""
    if processes == 1:
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    meeting = folder / "meeting"
    meeting.unlink(missing_ok=True)
    world = ["--world-size", str(processes), "--rdzv", f"file://{meeting}"]
    started = [
        subprocess.Popen(
            [*command, *world, "--rank", str(r), "--local-rank", str(r)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for r in range(processes)
    ]
    done = [
        subprocess.CompletedProcess(command, p.returncode, *text)
        for p, text in [(p, p.communicate(timeout=300)) for p in started]
    ]
    return next((d for d in done if d.returncode != 0), done[0])
