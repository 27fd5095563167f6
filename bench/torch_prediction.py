# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares predicted and measured iterations of PyTorch, of stages that sleep.

    torch_prediction.py FOLDER

Stages sleep instead of computing, so that processes do not compete for the
machine's cores. Their times, the link and the host's costs are measured first
(rondo.torch); `rondo simulate` then predicts the iteration with and without
the host's costs. Each case is measured and predicted three times. Needs Linux,
PyTorch and the package `rondo`, so run it with the Python of `make test-torch`,
build/torch/newest/bin/python, and RONDO set.
"""

import copy
import ctypes
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import rondo
import rondo.torch

SECONDS = {"F": 0.008, "I": 0.008, "W": 0.006}
MICROBATCHES, REPEATS, RUNS = 8, 15, 3


# Linux wakes a process up to 50 us late, for the sake of fewer wake-ups; with this
# request (prctl's PR_SET_TIMERSLACK) it does not.
TIMER_SLACK, LEAST_NS = 29, 1
SPIN = 0.00005


def take(seconds):
    """Sleeps, and looks at the clock for the last moment. A longer one would take the
    cores from other processes."""
    end = time.perf_counter() + seconds
    time.sleep(seconds - SPIN)
    while time.perf_counter() < end:
        pass


class SleepInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        take(SECONDS["F"])
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        take(SECONDS["I"])
        return grad


class SleepWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight):
        return weight.clone()

    @staticmethod
    def backward(ctx, grad):
        take(SECONDS["W"])
        return grad


class Stage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return SleepInput.apply(x) + SleepWeight.apply(self.weight)


def loss_fn(output, target):
    return (output - target).square().mean()


def measure(case, folder, rank):
    """The median step, and what predicts it."""
    placement, floats = case["placement"], case["floats"]
    example = torch.zeros(1, floats)
    modules = [Stage() for _ in placement]
    problem = rondo.torch.profile_stages(
        modules, placement, example, loss_fn, example, MICROBATCHES, fused=True, repeats=9
    )
    # The link: a message there and back, sent some time after others as in a run.
    data = torch.zeros(floats)
    trips = []
    for _ in range(30):
        dist.barrier()
        time.sleep(0.005)
        begin = time.perf_counter_ns()
        if rank == 0:
            dist.send(data, 1)
            dist.recv(data, 1)
        elif rank == 1:
            dist.recv(data, 0)
            dist.send(data, 0)
        trips.append((time.perf_counter_ns() - begin) // 2)
    host = rondo.torch.profile_host(message_bytes=4 * floats)
    found = [None] * dist.get_world_size()
    link = rondo.Link(latency_ns=int(statistics.median(trips)), bytes_per_us=None)
    dist.all_gather_object(found, (problem.to_json(), link.latency_ns))
    problem = rondo.Problem.from_json(found[0][0])
    problem.link = rondo.Link(latency_ns=found[0][1], bytes_per_us=None)
    # A part of a message's trip is the host's, which is counted apart.
    with_host = copy.deepcopy(problem)
    with_host.host = host
    own = host.send_ns + host.receive_ns + host.wait_ns
    with_host.link.latency_ns = max(0, with_host.link.latency_ns - own)
    schedule = rondo.simulate(with_host, case["family"])[0]
    plain = rondo.simulate(problem, case["family"])[0]
    mine = rondo.torch.make_stages(modules, placement, "cpu")
    run = rondo.torch.runtime(mine, schedule, loss_fn, problem=with_host)
    batch = torch.zeros(MICROBATCHES, floats)
    times = []
    for _ in range(REPEATS):
        dist.barrier()
        begin = time.perf_counter_ns()
        run.step(*([batch] if placement[0] == rank else []),
                 **({"target": batch, "losses": []} if placement[-1] == rank else {}))
        dist.barrier()
        times.append(time.perf_counter_ns() - begin)
    return {"measured": statistics.median(times), "host": vars(host),
            "with_host": schedule.makespan_ns, "without": plain.makespan_ns}


def errors(runs, key):
    """`-0.5 % (-2.1 to +0.3)`: the median error, the least and the greatest."""
    found = [100 * (run[key] / run["measured"] - 1) for run in runs]
    return f"{statistics.median(found):+.1f} % ({min(found):+.1f} to {max(found):+.1f})"


def process(folder, rank, ranks):
    torch.set_num_threads(1)
    ctypes.CDLL(None).prctl(TIMER_SLACK, LEAST_NS, 0, 0, 0)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store{ranks}", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(seconds=120))
    place = rondo.torch.placement
    cases = [("1f1b", place("loop", ranks), 256), ("zb-h1", place("loop", ranks), 256),
             ("interleaved-1f1b", place("loop", ranks, 2), 256), ("zbv", place("v", ranks, 2), 256),
             ("1f1b", place("loop", ranks), 2**18), ("1f1b", place("loop", ranks), 2**20)]
    for family, placement, floats in cases:
        case = {"family": family, "placement": placement, "floats": floats}
        runs = [measure(case, folder, rank) for _ in range(RUNS)]
        if rank == 0:
            print(f"{ranks} processes, {family}, messages of {4 * floats / 1024:.0f} KiB: "
                  f"measured {statistics.median(run['measured'] for run in runs) / 1e6:.1f} ms, "
                  f"predicted {errors(runs, 'with_host')}, without host costs {errors(runs, 'without')}", flush=True)
            print(f"    host costs {[run['host'] for run in runs]}", flush=True)
    dist.destroy_process_group()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        return process(folder, int(sys.argv[2]), int(sys.argv[3]))
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONWARNINGS": "ignore"}
    for ranks in (2, 4):
        (folder / f"store{ranks}").unlink(missing_ok=True)
        started = [subprocess.Popen([sys.executable, __file__, str(folder), str(rank), str(ranks)], env=environment)
                   for rank in range(ranks)]
        try:
            if any(p.wait(timeout=900) for p in started):
                sys.exit(f"{ranks} processes failed")
        finally:
            for p in started:
                if p.poll() is None:
                    p.kill()


if __name__ == "__main__":
    main()
