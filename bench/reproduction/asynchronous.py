#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous schedules against what their papers claim.

TiMePReSt (section 9 of arXiv 2410.14312): how much faster one backward a
mini-batch is than PipeDream's 1F1B, over 60 mini-batches of 3 micro-batches, by
stages and by the time of an activation on its link. Honest: a backward takes
twice the forwards of its mini-batch and its message has the bytes of all their
gradients. As the paper counts: a backward takes a forward's time and its
message the bytes of one gradient.

PipeMare (arXiv 1910.05124): utilization of a pipeline that drains in each
iteration against one that never does, in the paper's model.

asynchronous.py RONDO
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

FORWARD = 1200
SHARES = (0, 0.5, 1, 2, 3)


def problem(stages, each, iterations, backward, activation_bytes, gradient_bytes):
    cost = {
        "F": {"ns": FORWARD},
        "I": {"ns": backward // 2},
        "W": {"ns": backward - backward // 2},
    }
    return {
        "format": "rondo-problem/2",
        "name": "window",
        "microbatches": each,
        "iterations": iterations,
        "ranks": [{}] * stages,
        "stages": [{"replicas": [{"rank": s}], "costs": cost} for s in range(stages)],
        "edges": [
            {
                "from": s,
                "to": s + 1,
                "bytes": activation_bytes,
                "gradient_bytes": gradient_bytes,
            }
            for s in range(stages - 1)
        ],
        # One byte a ns.
        "link": {"latency_ns": 0, "bytes_per_us": 1000},
    }


def makespan(rondo, stated, family):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(stated))
        command = [rondo, "simulate", str(path), "--family", family, "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["makespan_ns"]


def timeprest(rondo):
    each, iterations = 3, 60
    for name in ("honest", "as the paper counts"):
        print(f"1F1B / nF1B, {name}; link time of an activation / forward")
        print("stages  " + "  ".join(f"{share:5}" for share in SHARES))
        for stages in (2, 3, 4):
            ratios = []
            for share in SHARES:
                size = int(share * FORWARD)
                one = problem(stages, each, iterations, 2 * FORWARD, size, size)
                if name == "honest":
                    whole = one
                else:
                    # Each micro-batch has a third of the mini-batch's backward.
                    whole = problem(
                        stages, each, iterations, FORWARD // each, size, size // each
                    )
                ratios.append(
                    makespan(rondo, one, "pipedream")
                    / makespan(rondo, whole, "timeprest")
                )
            print(f"{stages:6}  " + "  ".join(f"{ratio:5.3f}" for ratio in ratios))
        print()


def pipemare(rondo):
    print("utilization of a drained pipeline, F = B; without drains / with them")
    for stages, each in ((107, 32), (107, 8), (107, 16), (93, 16), (91, 16)):
        iterations = 40
        stated = problem(stages, each, iterations, FORWARD, 0, 0)
        drained = makespan(rondo, stated, "gpipe")
        overlapped = makespan(rondo, stated, "pipedream")
        work = 2 * FORWARD * each * iterations
        # The ramp of the whole run is no part of the paper's figure.
        ramp = 2 * FORWARD * (stages - 1)
        print(
            f"{stages} stages, {each} micro-batches: {work / drained:.4f}, "
            f"{drained / (overlapped - ramp):.2f}"
        )


def synchronous_start():
    print("PipeMare's utilization with synchronous epochs at the start (T3)")
    for stages, each, epochs, start in ((93, 16, 50, 10), (91, 16, 80, 4)):
        # An iteration that drains takes N + P - 1 slots, one that overlaps N.
        drained = (each + stages - 1) / each
        used = epochs / (start * drained + epochs - start)
        print(
            f"{stages} stages, {each} micro-batches, {start} of {epochs} epochs: "
            f"{used:.4f}"
        )
    print()


def held(stages, length, stage):
    """Micro-batches whose activations a stage holds in a slot in the middle.

    A stage recomputes, then runs its backward, then its forward.
    """
    slot = 4 * stages
    end = min(stage // length * length + length, stages) - 1
    count = 0
    for microbatch in range(2 * slot):
        forward = microbatch + stage
        backward = microbatch + 2 * stages - 1 - stage
        again = microbatch + 2 * stages - 1 - 2 * end + stage
        if stage % length == 0:
            count += forward < slot <= backward
        if length > 1:
            count += again <= slot <= backward
    return count


def recomputation():
    print("PipeMare's activations in micro-batches; recomputed in segments, ratio")
    for stages in (16, 91, 93, 107):
        length = math.ceil(stages / math.ceil(math.sqrt(stages)))
        without, segments = (
            sum(held(stages, each, stage) for stage in range(stages))
            for each in (1, length)
        )
        print(
            f"{stages} stages: {without}; {segments} in segments of {length}, "
            f"{segments / without:.3f}"
        )


def main():
    rondo = sys.argv[1]
    timeprest(rondo)
    pipemare(rondo)
    print()
    synchronous_start()
    recomputation()


if __name__ == "__main__":
    main()
