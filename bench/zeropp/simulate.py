#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulates pipelines whose state is sharded: simulate.py RONDO [MODEL [GB_PER_S]].

GPTs of 7B, 13B and 70B, or the MODEL, on servers of 8 ranks that share the state of
their stages, at 400 GB/s, with a pipeline across servers at 25 and 50 GB/s for each
rank, or GB_PER_S. Schedules:

1F1B, stage   each rank's stage is gathered for each forward and backward
1F1B, layer   layer by layer, each gathered while the one before computes, as
              FSDP does if it wraps layers
1F1B, once    each rank's stage is gathered and reduced once
3D            the same with optimizer state alone sharded; no tensor parallelism
interleaved, breadth, ZeroPP   several chunks a rank
searched      the same chunks, within the memory of "1F1B, once"

Bubble: the part of an iteration in which a rank is idle if gathers and reductions
took no time. Exposed: what these add to the time. Memory is that of the fullest
rank, with its state: 16 bytes a parameter sharded. Traffic: what a rank receives
of weights and gradients. Gains are in throughput.
"""

import pathlib
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
TIMES = (1, 2, 4, 8)  # micro-batches by servers
EFFORT = 1000
ONCE = 'family<"1f1b"> gathers<weights = 1, gradients = 1>'


def schedules(model, microbatches):
    """Name, stages, what is sharded, the schedule, and where stages lie."""
    ranks, cut = model.stages, model.stages * model.chunks
    placement, order = plans.by_layer(model, microbatches)
    rows = [
        ("1F1B, stage", ranks, "weights", 'family<"1f1b"> gathers<weights = 0, gradients = 0>', None),
        ("1F1B, layer", model.layers, "weights", order, placement),
        ("1F1B, once", ranks, "weights", ONCE, None),
        ("3D", ranks, "optimizer", 'family<"1f1b">', None),
        ("interleaved", cut, "weights", 'family<"interleaved-1f1b">', None),
        ("breadth", cut, "weights", 'family<"looped-bfs"> accumulate(schedule_order)', None),
        ("ZeroPP, U = P", cut, "weights", f'family<"blockwise", u = {ranks}>', None),
    ]
    # A longer unit than the iteration is the same as one of its length.
    if microbatches > ranks:
        rows.append(("ZeroPP, 2P-1", cut, "weights", f'family<"blockwise", u = {2 * ranks - 1}>', None))
    return rows


def simulated(model, across, microbatches, folder):
    """Figures by name."""
    found = {}
    for name, count, state, schedule, placement in schedules(model, microbatches):
        found[name] = plans.figures(RONDO, folder, plans.plan(model, count, microbatches, state, schedule, across, placement=placement))
        found[name].chunk_bytes = 2 * model.parameters() * (model.layers // count)
        # Weights and gradients of ZeRO-1 are not sharded; they are part of the peak.
        found[name].memory = found[name].peak_bytes + model.state_bytes(12 if state == "optimizer" else 16)
    # Rondo counts weights, gradients and two moments, of two bytes a parameter each; a mebibyte for alignment and control.
    memory = found["1F1B, once"].peak_bytes + 4 * model.state_bytes(2) + (1 << 20)
    cut = model.stages * model.chunks
    best = plans.figures(RONDO, folder, plans.plan(model, cut, microbatches, "weights", f"search<effort = {EFFORT}>", across, memory))
    best.chunk_bytes = 2 * model.parameters() * (model.layers // cut)
    best.memory = best.peak_bytes + model.state_bytes()
    found["searched"] = best
    return found


def show(found, model, microbatches):
    work = 3 * microbatches * model.layers // model.stages * model.pass_ns()
    for name, figures in found.items():
        traffic = (figures.gathers + figures.reductions) * figures.chunk_bytes * (plans.GROUP - 1) / plans.GROUP
        print(f"{microbatches // model.stages:4}  {name:13} {figures.ns / 1e6:9.1f} {100 * (1 - work / figures.free_ns):7.1f} {figures.exposed_ns() / 1e6:9.1f}"
              f" {figures.memory / 1e9:8.1f} {traffic / 1e9:9.1f}  {figures.origin}", flush=True)


def gains(by_times):
    """Gains in percent: of ZeroPP, with the faster unit that takes no more memory than "1F1B, once", and of the search."""
    def line(what, claim, gain):
        for new in ("ZeroPP", "searched"):
            print(f"{what:34} {claim:>6}  {new:8}" + "".join(f" {gain(found, new, times):7.1f}" for times, found in by_times.items()))

    def chosen(found, new):
        if new == "searched":
            return found["searched"]
        units = [f for name, f in found.items() if name.startswith("ZeroPP")]
        return min((f for f in units if f.memory <= found["1F1B, once"].memory), key=lambda f: f.ns)

    def speed(old):
        return lambda found, new, times: 100 * (found[old].ns / chosen(found, new).ns - 1)

    def memory(old):
        return lambda found, new, times: 100 * (chosen(found, new).memory / found[old].memory - 1)

    rounds = by_times[1]["breadth"].ns
    print(f"{'gain, % over':34} {'paper':>6}  {'M/P':8}" + "".join(f" {times:7}" for times in by_times))
    line("breadth", "30", speed("breadth"))
    line("breadth in rounds of P", "30", lambda found, new, times: 100 * (times * rounds / chosen(found, new).ns - 1))
    for old in ("1F1B, stage", "1F1B, layer", "1F1B, once"):
        line(old, "68", speed(old))
    line("3D", "33", speed("3D"))
    line("memory against 1F1B, layer", "-10", memory("1F1B, layer"))
    line("memory against 1F1B, once", "-10", memory("1F1B, once"))


def main():
    models = [m for m in plans.MODELS if len(sys.argv) < 3 or m.name == sys.argv[2]]
    if not models:
        raise SystemExit(f"{sys.argv[2]}: no such model; take one of {', '.join(m.name for m in plans.MODELS)}")
    for model in models:
        for rate in [int(sys.argv[3])] if len(sys.argv) > 3 else (25, 50):
            print(f"{model.name}: P = {model.stages} servers of {plans.GROUP} ranks, V = {model.chunks}, {rate} GB/s across, "
                  f"F of a chunk {model.layers // model.stages // model.chunks * model.pass_ns() / 1e6:.1f} ms")
            print(f" M/P  {'schedule':13} {'ms':>9} {'bubble%':>7} {'exposed':>9} {'GB':>8} {'traffic':>9}")
            by_times = {}
            with tempfile.TemporaryDirectory() as folder:
                for times in TIMES:
                    by_times[times] = simulated(model, 1000 * rate, times * model.stages, folder)
                    show(by_times[times], model, times * model.stages)
            gains(by_times)
            print(flush=True)


if __name__ == "__main__":
    main()
