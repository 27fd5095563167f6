# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchrun ... -m rondo.torchtitan profile --placement 0,1,1,0 -o JOB -- WORDS

Measures the stages of a torchtitan job and searches a schedule. WORDS are those of
torchtitan.train, such as --module llama3 --config llama3_8b. Writes JOB.problem.json,
which `rondo search` reads, JOB.json with the schedule, and JOB.csv, which
rondo.torchtitan.use() takes; and prints the predicted gain. Nothing of the job changes.
"""

from __future__ import annotations

import argparse
import sys

import torch.distributed as dist
from torchtitan.config import ConfigManager

from .. import command
from . import profile


def _placement(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m rondo.torchtitan",
        description="Words after -- are torchtitan's own.",
    )
    parser.add_argument("command", choices=["profile"])
    parser.add_argument(
        "--placement", type=_placement, required=True, help="the rank of each stage: 0,1,1,0"
    )
    parser.add_argument("-o", "--output", default="job", help="files begin with this")
    parser.add_argument("--steps", type=int, default=3, help="steps that are measured")
    parser.add_argument("--seconds", type=float, default=2, help="time of the search")
    parser.add_argument("--memory-bytes", type=int, help="cap of a rank's activations")
    own = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:own])
    config = ConfigManager().parse_args(words[own + 1 :])
    found = profile(
        config,
        given.placement,
        steps=given.steps,
        seconds=given.seconds,
        memory_bytes=given.memory_bytes,
    )
    if dist.get_rank() == 0:
        found.problem.write(f"{given.output}.problem.json")
        found.schedule.write(f"{given.output}.json")
        command.export("torch-csv", found.schedule, output=f"{given.output}.csv")
        print(found, flush=True)
        print(f"wrote {given.output}.problem.json, .json, .csv", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
