# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the processes of all clients share: comparisons by name, and reports."""

import json
import os
import pathlib

import torch
import torch.distributed as dist


def start(folder):
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size
    )
    return rank


def gathered(named):
    """The tensors of all processes by name; those of one name must be equal."""
    mine = {name: t.detach().float().clone() for name, t in named}
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    whole = {}
    for each in found:
        for name, tensor in each.items():
            if name in whole and not torch.equal(whole[name], tensor):
                raise AssertionError(f"processes differ in {name}")
            whole[name] = tensor
    return whole


def compare(found, expected):
    """The largest difference of two sets of named tensors, relative to each tensor."""
    if found.keys() != expected.keys():
        names = sorted(found.keys() ^ expected.keys())
        raise AssertionError(f"not the same names: {names[:6]}")
    worst = 0.0
    for name, tensor in found.items():
        scale = expected[name].abs().max().item() or 1.0
        worst = max(worst, (tensor - expected[name]).abs().max().item() / scale)
    return worst


def run_cases(folder, rank, run):
    """Writes what `run(case)` returns, or the error that it raises."""
    folder = pathlib.Path(folder)
    report = {}
    for case in json.loads((folder / "cases.json").read_text()):
        if "refused" in case:
            try:
                run(case)
                report[case["name"]] = {"said": "accepted"}
            except (ValueError, RuntimeError, TypeError, UserWarning) as error:
                report[case["name"]] = {"said": str(error)}
        else:
            report[case["name"]] = run(case)
        (folder / f"rank{rank}.json").write_text(json.dumps(report))
        print(case["name"], report[case["name"]], flush=True)
        if case.get("ends"):
            # One process has failed; the others notice when it is gone.
            return
        if dist.is_initialized():
            dist.barrier()
