# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that sleep instead of computing, so that processes do not compete for the
machine's cores, and the comparison of a predicted step with a measured one."""

import statistics
import time

import torch
import torch.distributed as dist

SECONDS = {"F": 0.03, "I": 0.03, "W": 0.02}
# Steps that are measured, after one that is not.
STEPS = 4


class SleepInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        time.sleep(SECONDS["F"])
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(SECONDS["I"])
        return grad


class SleepWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight):
        return weight.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(SECONDS["W"])
        return grad


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return SleepInput.apply(x) + SleepWeight.apply(self.weight)


def report_of(found, step):
    """Runs steps of the searched schedule. The difference is that of predicted and
    measured time, relative to the measured one."""
    times = []
    for _ in range(STEPS + 1):
        dist.barrier()
        begin = time.perf_counter_ns()
        step()
        dist.barrier()
        times.append(time.perf_counter_ns() - begin)
    return compare(found, times)


def compare(found, times):
    """The report of a case whose first step is not measured."""
    measured = statistics.median(times[1:])
    predicted = found.schedule.makespan_ns
    return {
        "difference": abs(predicted / measured - 1),
        "tensors": 0,
        "losses": 0.0,
        "note": f"{found}; measured {measured / 1e6:.1f} ms, predicted "
        f"{100 * (predicted / measured - 1):+.1f} %",
    }
