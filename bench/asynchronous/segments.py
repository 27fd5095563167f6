#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recomputation within stages and across them saves: segments.py RONDO_OPT [STAGES...].

The arenas of all ranks of a program of PipeMare's schedule in its own model, in which a
stage runs a forward and a backward at once, of as many stages, each with a rank (default
9 and 16), and 3 micro-batches an iteration. Stages keep their activations, recompute
each by itself, or across segments of about sqrt(P). A stage is a block of a GPT, or a
timed layer whose activations are as large as its input.
"""

import math
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command  # noqa: E402

PASSES = ("--pipe-resolve-stages", "--pipe-schedule", "--pipe-lower")
GPT = "vocab = 256, sequence = 64, hidden = 64, heads = 4, ffn = 256, batch = 4, tied = false"
TIMED = "forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000, activation_bytes = 65536, input_grad_frees_bytes = 0, output_bytes = 65536"


def text(stages, model, recompute):
    ranks = range(stages)
    lines = ["pipe.cluster @lab {"] + [f"  pipe.device @d{r} <flops_per_us = 40000>" for r in ranks] + ["}"]
    if model == "gpt":
        lines += [f"pipe.model @m gpt<{GPT}> {{", "  pipe.layer @wte embedding"] + [f"  pipe.layer @l{r} block" for r in ranks] + ["  pipe.layer @ln_f head", "}"]
    else:
        lines += ["pipe.model @m {"] + [f"  pipe.layer @l{r} synthetic<{TIMED}>" for r in ranks] + ["}"]
    lines += ["pipe.plan @step of @m on @lab microbatches(3) {"]
    for r in ranks:
        ends = model == "gpt"
        layers = ["@wte"] * (ends and r == 0) + [f"@l{r}"] + ["@ln_f"] * (ends and r == stages - 1)
        lines += [f"  pipe.stage @s{r} [{', '.join(layers)}] on {r}{recompute(r)}"]
    activations = ", activations = live" if recompute(0) else ""
    lines += ["}", f'pipe.schedule @spread of @step family<"pipemare", spatial = 1> versions<forward = live, backward = extrapolated{activations}>']
    return "\n".join(lines) + "\n"


def arena(tool, module, folder):
    source = folder / "plan.mlir"
    source.write_text(module)
    lowered = command(tool, source, *PASSES)
    ranks = re.search(r"pipeline arena \[([^\]]*)\]", lowered)
    return sum(map(int, ranks[1].split(",")))


def main(folder):
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    tool, counts = pathlib.Path(sys.argv[1]).resolve(), [int(n) for n in sys.argv[2:]] or [9, 16]
    print("MiB of all arenas       kept  within stages  across them")
    for model, name in (("gpt", "blocks of a GPT"), ("timed", "timed layers")):
        for stages in counts:
            length = math.ceil(stages / math.ceil(math.sqrt(stages)))
            kinds = (lambda r: "", lambda r: " recompute", lambda r: " recompute" + " across" * (r % length > 0))
            sizes = [arena(tool, text(stages, model, kind), folder) for kind in kinds]
            print(f"{stages:2} {name:17} {sizes[0] / 2**20:7.1f} {sizes[1] / 2**20:14.1f} {sizes[2] / 2**20:12.1f}", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch))
