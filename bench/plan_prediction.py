#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of a small GPT on two cores beside their programs: plan_prediction.py RONDO TEXT [ITERATIONS].

TEXT is a file to train on. Layers are measured one by one, with 4 samples a
micro-batch and with 1. Each plan is made with the costs of the one size and with
those of both, compiled and trained; a figure is the median of ITERATIONS
(default 15) iterations.
"""

import pathlib
import re
import statistics
import sys
import tempfile

from commands import command
from iterations import logged_ns

RONDO, TEXT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 15
LAYERS = ["wte", "h0", "h1", "h2", "h3", "h4", "h5", "ln_f"]
MODEL = """pipe.model @gpt gpt<vocab = 256, sequence = 128, hidden = 256, heads = 4, ffn = 1024, batch = 4, tied = false> {
  pipe.layer @wte embedding
%s
  pipe.layer @ln_f head
}
""" % "\n".join(f"  pipe.layer @{name} block" for name in LAYERS[1:-1])
CLUSTER = """pipe.cluster @machine {
  pipe.device @core0
  pipe.device @core1
}
"""
# Options of `rondo plan` by what the plan is, all for 64 samples an iteration.
PLANS = {
    "1 stage with 2 replicas, micro-batches of 8 (4 for each)": ["--cut", "8", "--microbatch-samples", "8"],
    "2 stages of 4 layers, micro-batches of 4": ["--cut", "4,4", "--microbatch-samples", "4"],
    "4 stages, 2 a device, micro-batches of 4": ["--cut", "2,2,2,2", "--chunks", "2", "--microbatch-samples", "4"],
    "1 stage with 2 replicas, micro-batches of 2 (1 for each)": ["--cut", "8", "--microbatch-samples", "2"],
    "2 stages, micro-batches of 2": ["--cut", "4,4", "--microbatch-samples", "2"],
    "2 stages, micro-batches of 1": ["--cut", "4,4", "--microbatch-samples", "1"],
}


def measure_layers(folder, samples):
    """One layer a stage, on two ranks as plans have, with as many samples an iteration."""
    source = folder / f"layers{samples}.mlir"
    stages = "\n".join(f"  pipe.stage @s{s} [@{name}] on {s % 2}" for s, name in enumerate(LAYERS))
    source.write_text(MODEL + CLUSTER + f"pipe.plan @step of @gpt on @machine microbatches({64 // samples}) samples({samples}) {{\n{stages}\n}}\n"
                      'pipe.schedule @order of @step family<"interleaved-1f1b">\n')
    program, costs = folder / "layers", folder / f"costs{samples}.json"
    command(RONDO, "compile", source, "-o", program, folder=folder)
    command(program, "--data", TEXT, "--profile", costs, "--iterations", 10, folder=folder)
    return costs


def predict(folder, options, costs):
    """The plan's time in s, by the costs."""
    flags = [word for path in costs for word in ("--costs", path)]
    text = command(RONDO, "plan", folder / "model.mlir", folder / "cluster.mlir", "--samples", 64, "--effort", 20, *options, *flags, "-o",
                   folder / "plan.mlir", folder=folder)
    number, unit = re.search(r"best: ([0-9.]+) (m?s)", text).groups()
    return float(number) / (1000 if unit == "ms" else 1)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.mlir").write_text(MODEL)
        (folder / "cluster.mlir").write_text(CLUSTER)
        large, small = measure_layers(folder, 4), measure_layers(folder, 1)
        print("| plan | measured | predicted, costs of 4 samples | of 1 and 4 samples |\n|---|---|---|---|")
        for what, options in PLANS.items():
            by_one, by_both = predict(folder, options, [large]), predict(folder, options, [small, large])
            command(RONDO, "compile", folder / "plan.mlir", "-o", folder / "train", folder=folder)
            command(folder / "train", "--data", TEXT, "--iterations", ITERATIONS, "--json-log", folder / "log", folder=folder)
            seconds = statistics.median(logged_ns(folder / "log")) / 1e9
            print(f"| {what} | {seconds:.3f} s | {by_one:.3f} s, {100 * (seconds / by_one - 1):+.1f} % | {by_both:.3f} s, "
                  f"{100 * (seconds / by_both - 1):+.1f} % |", flush=True)


main()
