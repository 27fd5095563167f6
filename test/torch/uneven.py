# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Micro-batches that differ, in PyTorch: one process of a run, uneven.py FOLDER RANK
RANKS. Runs the cases of FOLDER/cases.json and writes what it saw to
FOLDER/rank<RANK>.json.

A micro-batch is a sample of so many tokens. PyTorch's stages have one shape, so samples
are padded; targets after the end are not counted. The reference is one process
without padding. The loss is the mean over the tokens of the batch."""

import model
import process
import torch

import rondo
import rondo.torch

NOT_COUNTED = -100


def problem(name, tokens, pairs):
    """Costs affine in tokens and pairs; messages by token."""
    kinds = {"F": [11, 1], "I": [11, 2], "W": [11, 0]}
    costs = {kind: {"ns": {"fixed": 200, "per_size": list(per)}} for kind, per in kinds.items()}
    return rondo.Problem.from_value(
        {
            "format": "rondo-problem/2",
            "name": name,
            "microbatches": len(tokens),
            "sizes": [list(size) for size in zip(tokens, pairs)],
            "ranks": [{}, {}],
            "stages": [{"replicas": [{"rank": rank}], "costs": costs} for rank in (0, 1)],
            "edges": [{"from": 0, "to": 1, "bytes": {"per_size": [64, 0]}}],
            "link": {"latency_ns": 100, "bytes_per_us": 1000},
        }
    )


def samples(lengths):
    """Tokens and targets of each micro-batch, without padding."""
    ids, targets = model.batch(len(lengths))
    return [(ids[k : k + 1, :n], targets[k : k + 1, :n]) for k, n in enumerate(lengths)]


def padded(rows, length):
    """Rows of one length, in one batch; targets of the padding are not counted."""

    def batch(part, value):
        rest = [torch.nn.functional.pad(row[part], (0, length - row[part].shape[1]), value=value) for row in rows]
        return torch.cat(rest)

    return batch(0, 0), batch(1, NOT_COUNTED)


def loss_of(tokens):
    """The share of a micro-batch in the mean over the tokens of the batch."""

    def loss(output, target):
        parts = output.flatten(0, 1), target.flatten()
        return torch.nn.functional.cross_entropy(*parts, ignore_index=NOT_COUNTED, reduction="sum") / tokens

    return loss


def run_case(case, folder, rank):
    of = rondo.Problem.read(folder / case["problem"])
    schedule = rondo.Schedule.read(folder / case["schedule"])
    rows = samples(case["lengths"])
    loss_fn = loss_of(sum(case["lengths"]))
    whole = model.stages(2)
    expected = process.reference(whole, rows, loss_fn)
    modules = model.stages(2)
    mine = rondo.torch.make_stages(modules, [0, 1], "cpu")
    run = rondo.torch.runtime(
        mine, schedule, loss_fn, problem=of, pad=case["pad"], loss_is_share=not case["mean"]
    )
    ids, targets = padded([rows[k] for k in schedule.data_order()], max(case["lengths"]))
    losses = []
    run.step(*([ids] if rank == 0 else []), **({"target": targets, "losses": losses} if rank == 1 else {}))
    found = {"difference": 0.0, "tensors": 0, "loss_difference": 0.0}
    for a, b in zip(modules[rank].parameters(), whole[rank].parameters()):
        found["difference"] = max(found["difference"], process.relative(a.grad, b.grad))
        found["tensors"] += 1
    if rank == 1:
        total = sum(loss.item() for loss in losses)
        found["loss_difference"] = abs(total - expected) / abs(expected)
    return found


def refusal(case, folder):
    """Messages of several sizes are refused without `pad`."""
    of = rondo.Problem.read(folder / case["problem"])
    schedule = rondo.Schedule.read(folder / case["schedule"])
    mine = rondo.torch.make_stages(model.stages(2), [0, 1], "cpu")
    try:
        rondo.torch.runtime(mine, schedule, loss_of(1), problem=of)
    except rondo.RondoError as error:
        return str(error)
    return "accepted"


def job(cases, folder, rank, _, report):
    found = {case["name"]: run_case(case, folder, rank) for case in cases}
    report({"cases": found, "refusal": refusal(cases[0], folder)})


if __name__ == "__main__":
    process.run(job)
