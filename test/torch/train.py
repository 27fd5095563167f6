# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a run: train.py FOLDER RANK RANKS. Runs the cases of FOLDER/cases.json
and writes what it saw to FOLDER/rank<RANK>.json."""

import time

import model
import process
import torch
import torch.distributed as dist

import rondo
import rondo.torch


def run_case(case, folder, rank):
    problem = rondo.Problem.read(folder / case["problem"])
    schedule = rondo.Schedule.read(folder / case["schedule"])
    if case.get("csv"):
        schedule, problem = folder / case["csv"], None
    placement, m = case["placement"], case["microbatches"]
    ids, targets = model.batch(m * case["samples"])

    whole = model.stages(len(placement))
    expected_loss = process.reference(
        whole, zip(ids.chunk(m), targets.chunk(m)), lambda x, y: model.loss_fn(x, y) / m
    )
    modules = model.stages(len(placement))
    mine = rondo.torch.make_stages(modules, placement, "cpu")
    run = rondo.torch.runtime(mine, schedule, model.loss_fn, problem=problem,
                              messages=case.get("messages", False))  # fmt: skip
    inputs = [ids] if placement[0] == rank else []
    has_last = placement[-1] == rank

    def step():
        losses = []
        last = {"target": targets, "losses": losses} if has_last else {}
        run.step(*inputs, **last)
        return sum(loss.item() for loss in losses)

    loss = step()
    found = {"difference": 0.0, "tensors": 0}
    for stage, (module, other) in enumerate(zip(modules, whole)):
        if placement[stage] != rank:
            continue
        for a, b in zip(module.parameters(), other.parameters()):
            difference = process.relative(a.grad, b.grad)
            found["difference"] = max(found["difference"], difference)
            found["tensors"] += 1
    if has_last:
        found["loss_difference"] = abs(loss - expected_loss) / abs(expected_loss)
    times = []
    for _ in range(case["repeats"]):
        dist.barrier()
        begin = time.perf_counter_ns()
        step()
        dist.barrier()
        times.append(time.perf_counter_ns() - begin)
    found["step_ns"] = sorted(times)[len(times) // 2] if times else 0
    return found


def check_refusals(case, folder, ranks):
    """Stages that are not those of the schedule are refused, in words."""
    problem = rondo.Problem.read(folder / case["problem"])
    schedule = rondo.Schedule.read(folder / case["schedule"])
    found = []
    swapped = [ranks - 1 - rank for rank in case["placement"]]
    for placement in (swapped, [*case["placement"], 0]):
        modules = [torch.nn.Identity() for _ in placement]
        mine = rondo.torch.make_stages(modules, placement, "cpu")
        try:
            rondo.torch.runtime(mine, schedule, model.loss_fn, problem=problem)
            found.append("accepted")
        except ValueError as error:
            found.append(str(error))
    modules = [torch.nn.Identity() for _ in case["placement"]]
    mine = rondo.torch.make_stages(modules, case["placement"], "cpu")
    run = rondo.torch.runtime(mine, schedule, model.loss_fn, problem=problem)
    try:
        run.step(target=torch.zeros(schedule_rows(problem) + 1))
        found.append("accepted")
    except ValueError as error:
        found.append(str(error))
    return found


def schedule_rows(problem):
    """A number of rows that micro-batches divide."""
    return 2 * problem.microbatches


def job(cases, folder, rank, ranks, report):
    found = {"cases": {}}
    for case in cases:
        found["cases"][case["name"]] = run_case(case, folder, rank)
        report(found)
        dist.barrier()
    found["refusals"] = check_refusals(cases[0], folder, ranks)
    costs = rondo.torch.profile_host()
    found["host"] = [costs.action_ns, costs.send_ns, costs.receive_ns, costs.wait_ns]
    report(found)


process.run(job)
