# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes plans of a GPT for schedules that drain and that do not, compiles them, and prints Rondo's figures of each."""

import dataclasses
import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command  # noqa: E402
from iterations import predicted_ns  # noqa: E402

VOCABULARY, SEQUENCE, HIDDEN, HEADS = 256, 64, 64, 4
SAMPLES = 12  # of an iteration, whatever the micro-batches
FLOPS_PER_US = 20000

# Plans: @step keeps activations, @lean recomputes each stage, @segments across the stages of segments.
# Name: the family, the policy where it is not the family's, and the plan.
SCHEDULES = {
    "1f1b": ("1f1b", "", "step"),
    "zb-h1": ("zb-h1", "", "step"),
    "pipedream": ("pipedream", "", "step"),
    "2bw": ("2bw", "", "step"),
    "newest": ("pipedream", "forward = live, backward = live", "step"),
    "pipemare": ("pipemare", "", "step"),
    "segments": ("pipemare", "forward = live, backward = extrapolated, activations = extrapolated", "segments"),
    "timeprest": ("timeprest", "", "step"),
    "recompute": ("timeprest", "forward = vertical, backward = committed, activations = recompute", "lean"),
    "stashed": ("timeprest", "forward = vertical, backward = stashed, activations = stashed", "step"),
}


def symbol(name):
    return "s_" + name.replace("-", "_")


def licenses(folder):
    """The license texts of every Debian, as one file."""
    texts = sorted(path for path in pathlib.Path("/usr/share/common-licenses").rglob("*") if path.is_file() and not path.is_symlink())
    if not texts:
        raise SystemExit("/usr/share/common-licenses has no texts; name a file: --data FILE")
    data = folder / "licenses.txt"
    data.write_bytes(b"".join(path.read_bytes() for path in texts))
    return data


def schedules(names, of):
    """The lines of these schedules of a plan."""
    lines = []
    for name in names:
        family, policy, _ = SCHEDULES[name]
        versions = f" versions<{policy}>" if policy else ""
        lines += [f'pipe.schedule @{symbol(name)} of @{of} family<"{family}">{versions}']
    return lines


def plan(stages, microbatches, names):
    """A block of a GPT on each stage, with the embedding on the first and a head with its own weights on the last."""
    ranks = range(stages)
    lines = ["pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {"]
    lines += [f"  pipe.device @rank{r} <flops_per_us = {FLOPS_PER_US}>" for r in ranks]
    lines += ["}", f"pipe.model @gpt gpt<vocab = {VOCABULARY}, sequence = {SEQUENCE}, hidden = {HIDDEN}, heads = {HEADS}, ffn = {4 * HIDDEN},"
              f" batch = {SAMPLES // microbatches}, tied = false> {{", "  pipe.layer @wte embedding"]
    lines += [f"  pipe.layer @h{r} block" for r in ranks] + ["  pipe.layer @ln_f head", "}"]
    length = math.ceil(stages / math.ceil(math.sqrt(stages)))
    again = {"step": lambda r: "", "lean": lambda r: " recompute", "segments": lambda r: " recompute" + " across" * (r % length > 0)}
    for kind, recompute in again.items():
        lines += [f"pipe.plan @{kind} of @gpt on @machine microbatches({microbatches}) {{"]
        for r in ranks:
            layers = ["@wte"] * (r == 0) + [f"@h{r}"] + ["@ln_f"] * (r == stages - 1)
            lines += [f"  pipe.stage @s{r} [{', '.join(layers)}] on {r}{recompute(r)}"]
        lines += ["}"]
        lines += schedules([name for name in names if SCHEDULES[name][2] == kind], kind)
    return "\n".join(lines) + "\n"


@dataclasses.dataclass
class Facts:
    """Figures of a schedule before it runs. Delays are in updates, the most of any stage; times in ns."""

    iteration_ns: float = 0
    # Time of a run in addition to its iterations: the pipeline fills and drains.
    ends_ns: float = 0
    forward_delay: int = 0
    backward_delay: int = 0
    copies: int = 1


def versions(rondo, source):
    """[symbol of a schedule in `source` whose iterations overlap]: its row of `rondo versions`."""
    found = {}
    for line in command(rondo, "versions", source, "--json").splitlines():
        row = json.loads(line)
        found[row["schedule"].split()[0][1:]] = row
    return found


def emitted(rondo, source, name):
    """The predicted ns of an iteration and the bytes of each rank's arena in the program of a schedule."""
    text = command(rondo, "compile", source, "--schedule", symbol(name), "--emit", "cpp")
    arenas = re.search(r"int64_t arena_bytes\[\] = \{([^}]*)\}", text)
    if not arenas:
        raise SystemExit(f"{source}: the program of {name} has no arena at the expected position")
    return predicted_ns(text), [int(n) for n in arenas[1].split(",")]


def facts(rondo, source, name, analyzed):
    iteration, _ = emitted(rondo, source, name)
    known = Facts(iteration_ns=iteration)
    row = analyzed.get(symbol(name))
    if row:
        known.ends_ns = row["makespan_ns"] - row["iterations"] * iteration
        known.forward_delay = max(replica["forward_delay"]["most"] for replica in row["replicas"])
        known.backward_delay = max(replica["backward_delay"]["most"] for replica in row["replicas"])
        known.copies = max(replica["copies"] for replica in row["replicas"])
    return known


def compiled(rondo, source, names, program):
    """Compiles one program of the schedules; returns the bytes of each rank's arena, the largest that any of them needs."""
    command(rondo, "compile", source, "--schedule", ",".join(map(symbol, names)), "-o", program)
    arenas = [emitted(rondo, source, name)[1] for name in names]
    return [max(rank) for rank in zip(*arenas)]
