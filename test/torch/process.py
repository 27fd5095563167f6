# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process of a run, started as PROGRAM FOLDER RANK RANKS, and comparisons with a
reference, which is one process."""

import datetime
import json
import pathlib
import sys

import torch
import torch.distributed as dist


def reference(stages, microbatches, loss_fn):
    """The sum of the losses of all micro-batches, each an input and a target. Leaves its
    gradients in the stages."""
    total = 0.0
    for x, y in microbatches:
        for stage in stages:
            x = stage(x)
        loss = loss_fn(x, y)
        loss.backward()
        total += loss.item()
    return total


def relative(found, expected):
    """The largest difference, relative to the largest expected number."""
    if found is None:
        return float("inf")
    scale = expected.abs().max().item() or 1.0
    return (found - expected).abs().max().item() / scale


def run(job):
    """Joins the run's processes and calls job(cases, folder, rank, ranks, report) with the
    cases of FOLDER/cases.json. What it passes to `report` is in FOLDER/rank<RANK>.json."""
    folder, rank, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        timeout=datetime.timedelta(seconds=60),
    )

    def report(found):
        (folder / f"rank{rank}.json").write_text(json.dumps(found))

    job(json.loads((folder / "cases.json").read_text()), folder, rank, ranks, report)
    dist.barrier()
    dist.destroy_process_group()
