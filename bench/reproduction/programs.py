# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of timed layers, compiled and measured."""

import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command  # noqa: E402


def source(ranks, stages, microbatches, ns, link, output_bytes, schedules):
    """A plan with stage s on rank s mod `ranks`; each task takes `ns`, and messages have `output_bytes`."""
    layer = f"forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = 64, output_bytes = {output_bytes}"
    lines = [f"pipe.cluster @cluster link<bytes_per_us = {link}> {{"] if link else ["pipe.cluster @cluster {"]
    lines += [f"  pipe.device @d{r}" for r in range(ranks)] + ["}", "pipe.model @timed {"]
    lines += [f"  pipe.layer @l{s} synthetic<{layer}>" for s in range(stages)]
    lines += ["}", f"pipe.plan @step of @timed on @cluster microbatches({microbatches}) {{"]
    lines += [f"  pipe.stage @s{s} [@l{s}] on {s % ranks}" for s in range(stages)] + ["}"]
    lines += [f"pipe.schedule @{name} of @step {text}" for name, text in schedules.items()]
    return "\n".join(lines) + "\n"


def measure(rondo, ranks, stages, microbatches, ns, link, output_bytes, schedules, iterations):
    """[name of a schedule]: the ns of an iteration as measured and as simulated. `link`: bytes per us, imposed; 0: no limit."""
    with tempfile.TemporaryDirectory() as folder:
        text, program, log = (pathlib.Path(folder, name) for name in ("step.mlir", "train", "log"))
        text.write_text(source(ranks, stages, microbatches, ns, link, output_bytes, schedules))
        command(rondo, "compile", text, "--schedule", ",".join(schedules), "--impose-links", "-o", program)
        imposed = ["--link", f"0:{link}"] if link else []
        turns = ",".join(f"{name}:1" for name in schedules)
        command(program, *imposed, "--schedule", turns, "--iterations", iterations * len(schedules), "--json-log", log)
        times = {name: [] for name in schedules}
        for iteration in map(json.loads, log.read_text().splitlines()):
            times[iteration.get("schedule", next(iter(schedules)))].append(iteration["ns"])
        lines = command(rondo, "simulate", text, "--json").splitlines()
        simulated = [json.loads(line)["makespan_ns"] for line in lines]
    return {name: (statistics.median(times[name]), computed) for name, computed in zip(schedules, simulated)}
