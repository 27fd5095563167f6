#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a GPT with schedules that drain and that do not: curves.py RONDO [STAGES].

A byte-level GPT with a block on each of STAGES stages (default 4) learns license
texts. All methods have the same samples in the same order, 12 an iteration, cut
into each number of MICROBATCHES, the same learning rates and AdamW without
clipping. Rows:

    newest        1F1B without flush, tasks read the newest weights, nothing is corrected
    T1            as newest, with --lr-by-delay over the first quarter of the run
    T1+T2         pipemare: with extrapolated weights too
    T1+T2+T3      and a synchronous first fifth of the run
    segments      as T1+T2, with activations made again across the stages of segments, with
                  extrapolated weights
    recompute     timeprest with activations made again, stashed: with those of the forward

2bw needs as many micro-batches as stages: where none of MICROBATCHES is enough, it has the
least number that is, beside 1f1b.
Seconds are those that Rondo predicts for the plan's devices, one for each rank: iterations
as the program says, and the pipeline fills and drains once. With --wall they are those that
the runs take, and the iteration is the median. A held-out loss is the mean over SEEDS runs,
with the least and the most.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import statistics
import tempfile

import programs

# Row: the schedules that it trains with, and whether rates follow the delay.
METHODS = {
    "1f1b": (("1f1b",), False),
    "zb-h1": (("zb-h1",), False),
    "pipedream": (("pipedream",), False),
    "2bw": (("2bw",), False),
    "newest": (("newest",), False),
    "T1": (("newest",), True),
    "T1+T2": (("pipemare",), True),
    "segments": (("segments",), True),
    "T1+T2+T3": (("1f1b", "pipemare"), True),
    "timeprest": (("timeprest",), False),
    "recompute": (("recompute",), False),
    "stashed": (("stashed",), False),
}
WINDOW = 10  # iterations whose losses a point of a curve averages


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rondo", type=pathlib.Path)
    parser.add_argument("stages", type=int, nargs="?", default=4)
    parser.add_argument("--microbatches", default="1,3,4")
    parser.add_argument("--methods", default=",".join(METHODS), help="rows, of those above (default: all)")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", default="0.001,0.004")
    parser.add_argument("--target", type=float, default=3.0, help="a loss; the table says when the mean curve reaches it")
    parser.add_argument("--data", type=pathlib.Path, help="a text (default: Debian's license texts)")
    parser.add_argument("--wall", action="store_true", help="times as measured; each rank should have a core")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; no loss or predicted time depends on it")
    parser.add_argument("--json", type=pathlib.Path, help="where the curves go")
    given = parser.parse_args()
    given.counts = [int(n) for n in given.microbatches.split(",")]
    given.methods = given.methods.split(",")
    for method in given.methods:
        if method not in METHODS:
            parser.error(f"--methods {method}: there are {', '.join(METHODS)}")
    for count in given.counts:
        if count < 1 or programs.SAMPLES % count:
            parser.error(f"--microbatches {count}: {programs.SAMPLES} samples do not divide into {count}; take a divisor")
    if given.iterations < WINDOW:
        parser.error(f"--iterations {given.iterations}: a point of a curve averages {WINDOW}, so a run has as many or more")
    if given.wall and given.jobs > 1:
        parser.error(f"--jobs {given.jobs}: parallel runs slow each other down; --wall needs --jobs 1")
    return given


def cases(stages, counts, methods):
    """(micro-batches, method) of each row."""
    # 2bw needs as many micro-batches as stages.
    enough = [n for n in counts if n >= stages]
    if not enough:
        enough = [n for n in range(stages, programs.SAMPLES + 1) if programs.SAMPLES % n == 0][:1]
    for count in sorted({*counts, *(enough if "2bw" in methods else counts)}):
        for method in methods:
            if method == "2bw" and count not in enough or count not in counts and method not in ("1f1b", "2bw"):
                continue
            yield count, method


def train(case, given, data, rate, seed, folder):
    """The losses and ns of all iterations, the held-out loss at the end, and the bytes planned and allocated."""
    schedules, by_delay = METHODS[case["method"]]
    log = folder / f"{case['program'].name}-{case['method']}-{rate}-{seed}.log"
    words = ["--data", data, "--iterations", given.iterations, "--drain-every", given.iterations, "--clip", 0,
             "--lr", rate, "--min-lr", rate / 10, "--seed", seed, "--json-log", log]
    if by_delay:
        words += ["--lr-by-delay", max(1, given.iterations // 4)]
    if len(schedules) > 1:
        first = case["synchronous"]
        turns = (first, given.iterations - first)
        words += ["--schedule", ",".join(f"{programs.symbol(s)}:{n}" for s, n in zip(schedules, turns))]
    printed = programs.command(case["program"], *words)
    memory = next(line for line in printed.splitlines() if line.startswith("memory: ")).split()
    losses, times, held_out = [], [], None
    for row in map(json.loads, log.read_text().splitlines()):
        if "loss" in row:
            losses.append(row["loss"])
            times.append(row["ns"])
        held_out = row.get("held_out_loss", held_out)
    if len(losses) != given.iterations:
        raise SystemExit(f"{log}: {len(losses)} losses of {given.iterations} iterations")
    return losses, times, held_out, int(memory[1]), int(memory[4])


def prepared(given, folder):
    """The rows' programs and what is known of them; rows with the same schedules share a program."""
    found, shared = [], {}
    for count, method in cases(given.stages, given.counts, given.methods):
        schedules, _ = METHODS[method]
        source = folder / f"n{count}.mlir"
        if not source.exists():
            needed = {name for chosen in given.methods for name in METHODS[chosen][0]}
            names = [n for n in programs.SCHEDULES if n in needed and (n != "2bw" or count >= given.stages)]
            source.write_text(programs.plan(given.stages, count, names))
            analyzed = programs.versions(given.rondo, source)
        if (count, schedules) not in shared:
            program = folder / f"n{count}-{'-'.join(schedules)}"
            arenas = programs.compiled(given.rondo, source, schedules, program)
            known = [programs.facts(given.rondo, source, name, analyzed) for name in schedules]
            shared[count, schedules] = (program, arenas, known)
        program, arenas, known = shared[count, schedules]
        synchronous = given.iterations // 5 if len(schedules) > 1 else 0
        late = known[-1]
        times = [(i + 1) * known[0].iteration_ns for i in range(synchronous)]
        begin = (times[-1] if times else 0) + late.ends_ns
        times += [begin + (i + 1) * late.iteration_ns for i in range(given.iterations - synchronous)]
        found.append({"microbatches": count, "method": method, "program": program, "synchronous": synchronous,
                      "arena_bytes": arenas, "facts": late, "seconds": [t / 1e9 for t in times]})
    return found


def measured(row, times):
    """Replaces predicted times by those of runs, lists of ns by iteration."""
    mean = [statistics.fmean(iteration) for iteration in zip(*times)]
    row["seconds"] = [ns / 1e9 for ns in itertools.accumulate(mean)]
    settled = [ns for run in times for ns in run[row["synchronous"]:]]
    row["facts"] = dataclasses.replace(row["facts"], iteration_ns=statistics.median(settled))


def smooth(runs):
    """The mean over runs of each window's losses, by the iteration that ends it."""
    count = len(runs[0])
    return [(end, statistics.fmean(loss for run in runs for loss in run[end - WINDOW:end])) for end in range(WINDOW, count + 1)]


def spread(values):
    return f"{statistics.fmean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def table(rows, given, rate):
    shortest = min(row["seconds"][-1] for row in rows)
    kind = "wall" if given.wall else "predicted"
    print(f"{given.stages} stages, learning rate {rate:g}: {given.iterations} iterations of {programs.SAMPLES} samples of {programs.SEQUENCE} tokens; {kind} time")
    layout = "{:>2} {:10} {:>9} {:>9} {:>14} {:>6} {:>6} {:>26} {:>10} {:>10}"
    print(layout.format("N", "method", "iteration", "tokens/s", "MiB: rank, all", "late", "copies", "held-out loss at the end",
                        f"at {shortest:.2f} s", f"{given.target:g} after"))
    for row in rows:
        known = row["facts"]
        points = smooth(row["losses"])
        early = [loss for end, loss in points if row["seconds"][end - 1] <= shortest]
        reached = next((row["seconds"][end - 1] for end, loss in points if loss <= given.target), None)
        tokens = programs.SAMPLES * programs.SEQUENCE * given.iterations / row["seconds"][-1]
        print(layout.format(
            row["microbatches"], row["method"], f"{known.iteration_ns / 1e6:.2f} ms", f"{tokens:.0f}",
            f"{max(row['arena_bytes']) / 2**20:.2f}, {sum(row['arena_bytes']) / 2**20:.1f}",
            f"{known.forward_delay}, {known.backward_delay}", known.copies, spread(row["held_out"]),
            f"{early[-1]:.3f}" if early else "-", f"{reached:.2f} s" if reached else "-"))
    print(flush=True)


def main():
    given = arguments()
    given.rondo = given.rondo.resolve()
    curves = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = given.data.resolve() if given.data else programs.licenses(folder)
        rows = prepared(given, folder)
        for rate in map(float, given.rates.split(",")):
            with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
                runs = [[pool.submit(train, row, given, data, rate, seed, folder) for seed in range(1, given.seeds + 1)] for row in rows]
                for row, futures in zip(rows, runs):
                    results = [future.result() for future in futures]
                    row["losses"] = [result[0] for result in results]
                    row["held_out"] = [result[2] for result in results]
                    if given.wall:
                        measured(row, [result[1] for result in results])
                    for *_, planned, allocated in results:
                        if not planned == allocated == sum(row["arena_bytes"]):
                            raise SystemExit(f"{row['program'].name}: {sum(row['arena_bytes'])} bytes compiled, {planned} planned, {allocated} allocated")
            table(rows, given, rate)
            curves += [{"stages": given.stages, "rate": rate, "facts": dataclasses.asdict(row["facts"]),
                        **{key: row[key] for key in ("microbatches", "method", "arena_bytes", "held_out", "seconds", "losses")}} for row in rows]
            if given.json:
                given.json.write_text(json.dumps(curves))
        print("memory: all programs allocated what was planned")


if __name__ == "__main__":
    main()
