#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures stages on several ranks, and recomputation, beside what was predicted: replicas.py RONDO TEXT [ITERATIONS].

TEXT is a file to train on. A figure is the median of ITERATIONS (default 20)
iterations, in ms. Ranks are threads, or processes over TCP on this machine.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from commands import command
from iterations import logged_ns

RONDO, TEXT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "gpt-replicas.mlir"
# Latency in us and bytes per us, imposed on every link.
SLOW = (500, 50)


def timed(replicas, weight_bytes, microbatches, link=None, split="", milliseconds=20):
    """A plan with a stage for each entry of `replicas`, whose tasks take that long for 4 samples."""
    ranks = 1 + max(max(ranks) for ranks in replicas)
    figures = f" link<latency_ns = {1000 * link[0]}, bytes_per_us = {link[1]}>" if link else ""
    ns = milliseconds * 1000000
    lines = [f"pipe.cluster @machine{figures} {{"] + [f"  pipe.device @rank{r}" for r in range(ranks)] + ["}"]
    lines += ["pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 1024,"
              f" output_bytes = 100000, weight_bytes = {weight_bytes}>" for s in range(len(replicas))]
    lines += ["}", f"pipe.plan @step of @timed on @machine microbatches({microbatches}) samples(12) {{"]
    lines += [f"  pipe.stage @s{s} [@l{s}] on {list(ranks)}{split}" for s, ranks in enumerate(replicas)]
    return "\n".join(lines + ["}", 'pipe.schedule @one_f_one_b of @step family<"1f1b">\n'])


def gpt(recompute=""):
    """The example's model as one stage with two replicas."""
    text = re.sub(r"  pipe.device @rank[23].*\n", "", EXAMPLE.read_text()).replace("67108864", "268435456")
    return text[:text.index("pipe.plan")] + f"""pipe.plan @step of @gpt on @machine microbatches(8) {{
  pipe.stage @s0 [@wte, @h0, @h1, @h2, @h3, @ln_f] on [0, 1]{recompute}
}}
pipe.schedule @one_f_one_b of @step family<"1f1b">
"""


def compile_plan(folder, text, *flags):
    source, program = folder / "step.mlir", folder / "train"
    source.write_text(text)
    command(RONDO, "compile", source, *flags, "--impose-links", "-o", program)
    return program


def run(folder, program, ranks, arguments, file):
    """Runs as threads and as processes; each writes what the flag `file` names. Returns what threads print, and both files."""
    threads, tcp = folder / "threads", folder / "tcp"
    text = command(program, *arguments, file, threads)
    place = folder / "meeting"
    place.unlink(missing_ok=True)
    processes = []
    for rank in range(ranks):
        flags = ["--rank", rank, "--world-size", ranks, "--rdzv", f"file://{place}", file, tcp]
        processes.append(subprocess.Popen([str(a) for a in [program, *arguments, *flags]], stdout=subprocess.DEVNULL))
    if any([process.wait() for process in processes]):
        raise SystemExit(f"{program} failed as processes")
    return text, threads, tcp


def arguments_of(link, data=()):
    return ["--iterations", ITERATIONS, *data] + (["--link", f"{link[0]}:{link[1]}"] if link else [])


def iterations(folder, program, ranks, link=None, data=()):
    """Median time of an iteration as threads and as processes, and the predicted one."""
    text, *logs = run(folder, program, ranks, arguments_of(link, data), "--json-log")
    predicted = float(re.search(r"predicted ([0-9.]+) ms", text).group(1))
    return *(statistics.median(logged_ns(log)) / 1e6 for log in logs), predicted


def sums(folder, program, ranks, link):
    """Median time for which the first of all collectives is awaited; nothing else runs meanwhile."""
    _, *traces = run(folder, program, ranks, arguments_of(link), "--trace")
    events = [json.loads(trace.read_text()) for trace in traces]
    events = [each["traceEvents"] if isinstance(each, dict) else each for each in events]
    return [statistics.median(event["dur"] for event in each if event.get("name") == "await 0") / 1e3 for each in events]


def row(name, measured, predicted):
    over = "  ".join(f"{one:7.1f} {100 * (one / predicted - 1):+5.1f} %" for one in measured)
    print(f"{name:56} {over}  {predicted:7.1f}", flush=True)


def measure(name, text, ranks, link=None, flags=(), data=()):
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        *measured, predicted = iterations(folder, compile_plan(folder, text, *flags), ranks, link, data)
        row(name, measured, predicted)
        return measured, predicted


def measured_costs(folder, text):
    program, costs = compile_plan(folder, text), folder / "costs.json"
    command(program, "--profile", costs, "--data", TEXT)
    return costs


def gpt_with_costs(name, recompute=""):
    with tempfile.TemporaryDirectory() as path:
        costs = measured_costs(pathlib.Path(path), gpt(recompute))
        measured, _ = measure(name, gpt(recompute), 2, None, ("--costs", costs), ("--data", TEXT))
        return measured, json.loads(costs.read_text())["stages"][0]


print(f"{'iteration':56} {'threads':>7}          {'TCP':>7}           predicted")
for split in ("", " round_robin"):
    for link in (None, SLOW):
        name = f"timed, 2 stages x 2 replicas{',' + split if split else ''}{', links of %d us, %d B/us' % link if link else ''}"
        measure(name, timed([(0, 1), (2, 3)], 800000, 8, link, split), 4, link)
for replicas in (2, 3):
    with tempfile.TemporaryDirectory() as path:
        program = compile_plan(pathlib.Path(path), timed([tuple(range(replicas))], 3000000, 1, SLOW, milliseconds=1))
        row(f"the sum of 3 MB over {replicas} replicas alone, these links", sums(pathlib.Path(path), program, replicas, SLOW),
            (2 * SLOW[0] + 2 * (replicas - 1) * 3000000 / (replicas * SLOW[1])) / 1e3)
kept, _ = gpt_with_costs("GPT, 1 stage x 2 replicas, measured costs")
again, stage = gpt_with_costs("same, all layers recompute", " recompute")
# Each replica has half of the samples of 8 micro-batches.
added = 8 * stage["recompute_ns"] / 2 / 1e6
row("same, compared with the time without + F of each", again, kept[0] + added)
