# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries what docs/export.md says of an exported model and Rondo's other features."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Sequence

import torch

import models
from programs import Checks, contents, run_processes
from rondo.command import find_rondo
from rondo.torch.export import Model, check, export_stages

Edit = Callable[[str], str]


def on(ranks: str) -> Edit:
    """The second stage on these of three ranks."""

    def edit(text: str) -> str:
        text = text.replace("pipe.device @rank1", "pipe.device @rank1 pipe.device @rank2")
        return text.replace("] on 1", f"] on {ranks}")

    return edit


def chunks(ranks: Sequence[int]) -> Edit:
    """Four stages on these ranks."""

    def edit(text: str) -> str:
        head, _, schedules = text.partition("  pipe.stage @s0")
        layers = re.findall(r'pipe.layer (@"\w+")', head)
        cuts = [layers[:1], layers[1:3], layers[3:4], layers[4:]]
        stages = [
            f"  pipe.stage @s{i} [{', '.join(names)}] on {rank}\n"
            for i, (names, rank) in enumerate(zip(cuts, ranks))
        ]
        return head + "".join(stages) + schedules[schedules.index("}") :]

    return edit


def replace(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new)


def second_plan(text: str) -> str:
    """The same stages in micro-batches of 1 sample."""
    begin = text.index("pipe.plan @plan")
    plan = text[begin : text.index("}", begin) + 1]
    plan = plan.replace("@plan", "@ones").replace("microbatches(4)", "microbatches(8) samples(1)")
    return f'{text}{plan}\npipe.schedule @of_ones of @ones family<"1f1b">\n'


FIRST = 'family<"1f1b">'


def offload(words: str) -> Edit:
    """Copies of all micro-batches of the first stage."""

    def edit(text: str) -> str:
        link = "<host_link = <latency_ns = 1000, bytes_per_us = 20000>>"
        text = re.sub(r"pipe.device @rank\d", rf"\g<0> {link}", text)
        text = text.replace("] on 0", f"] on 0 {words}")
        return text.replace(FIRST, 'family<"1f1b", offload = all>')

    return edit


@dataclass
class Trial:
    """How to compile and run a model with a feature."""

    edit: Edit = field(default=lambda text: text)
    #: Options of `rondo plan`, whose plan is compiled.
    plan: Sequence[str] = ()
    compile: Sequence[str] = ()
    run: Sequence[str] = ("--verify",)
    processes: str = ""


#: By the first cell of the table's rows.
TRIALS = {
    "families and `search<...>`": Trial(replace(FIRST, "search<effort = 50>")),
    "several stages on a rank": Trial(
        lambda text: chunks([0, 1, 0, 1])(text).replace(FIRST, 'family<"interleaved-1f1b">')
    ),
    "V-shaped placements": Trial(
        lambda text: chunks([0, 1, 1, 0])(text).replace(FIRST, 'family<"zbv">')
    ),
    "`recompute` of a stage": Trial(replace("] on 0", "] on 0 recompute")),
    "`recompute [@h1]`, of layers": Trial(replace("] on 0", '] on 0 recompute [@"h1"]')),
    "`recompute across`": Trial(
        lambda text: replace("] on 1", "] on 1 recompute across")(text).replace(
            "] on 0", "] on 0 recompute"
        )
    ),
    "`offload`": Trial(offload("offload")),
    "`offload [@h0.ln_1.mul]`": Trial(offload("offload [@h0.ln_1.mul]")),
    "iterations that overlap": Trial(replace(FIRST, 'family<"pipedream">')),
    "`versions<...>`": Trial(
        replace(FIRST, 'family<"pipedream"> versions<forward = live, backward = live>')
    ),
    "`on [1, 2] round_robin`": Trial(on("[1, 2] round_robin")),
    "`on [1, 2]`": Trial(on("[1, 2]")),
    "`on [1: 1, 2: 1]`": Trial(on("[1: 1, 2: 1]")),
    "`on [1, 2]`, layers that mix samples": Trial(
        lambda text: on("[1, 2]")(text).replace("by_sample = true, ", "")
    ),
    "`on [1, 2, 0]`": Trial(on("[1, 2, 0]")),
    "`sharded<optimizer>`": Trial(on("[1, 2] sharded<optimizer>")),
    "`sharded<gradients>`": Trial(on("[1, 2] sharded<gradients>")),
    "`sharded<weights>`": Trial(on("[1, 2] sharded<weights>")),
    "`round_robin` with `sharded`": Trial(on("[1, 2] round_robin sharded<optimizer>")),
    "`samples(1)` of a plan": Trial(replace("microbatches(4)", "microbatches(8) samples(1)")),
    "`samples(4)` of a plan": Trial(replace("microbatches(4)", "microbatches(2) samples(4)")),
    "several sizes in one executable": Trial(
        second_plan, compile=("--schedule", "schedule_1f1b,of_ones")
    ),
    "`rondo plan`": Trial(plan=("--samples", "8", "--effort", "1")),
    "`--adaptive`": Trial(compile=("--adaptive",)),
    "`--optimizer sgd`": Trial(compile=("--optimizer", "sgd")),
    "`--check-bodies`": Trial(run=("--check-bodies",)),
    "`--check-messages`": Trial(run=("--verify", "--check-messages")),
    "processes over TCP": Trial(processes="tcp"),
    "processes over MPI": Trial(compile=("--transport=mpi",), processes="mpi"),
    "`--dtype bf16`": Trial(compile=("--dtype", "bf16")),
    "`--generate`": Trial(run=("--generate", "a")),
}


def rows_of_the_page() -> dict[str, tuple[str, str]]:
    """The table's rows: whether it works, and what the last cell says."""
    page = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
    _, _, section = page.partition("## With other features\n")
    rows: dict[str, tuple[str, str]] = {}
    for line in section.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3:
            rows[cells[0]] = (cells[1], cells[2])
    return rows


def check_features(model: Model, data: Path, checks: Checks) -> None:
    rows = rows_of_the_page()
    rows.pop("feature", None)
    same = rows.keys() == TRIALS.keys()
    checks.check("features: the page's rows are those that are tried", same,
                 "" if same else ", ".join(sorted(rows.keys() ^ TRIALS.keys())))
    for name in (n for n in TRIALS if n in rows):
        outcome, remark = rows[name]
        done = attempt(TRIALS[name], model, data)
        if done is None:
            print(f"skipped feature: {name}", flush=True)
            continue
        text = done.stdout + done.stderr
        if outcome == "works":
            holds = done.returncode == 0 and "PASS" in text
        else:
            # A refusal has a place in the file, or is the only line.
            said = re.findall(r"`(.*?)`", remark)[0]
            is_placed = re.search(r"^(\S+:\d+:\d+|rondo|error): ", text, re.M)
            holds = outcome == "refused" and done.returncode != 0
            holds = holds and said in text and is_placed is not None
        checks.check(f"feature: {name} {outcome}", holds, "" if holds else text.strip()[-400:])


def attempt(
    trial: Trial, model: Model, data: Path
) -> subprocess.CompletedProcess[str] | None:
    """What compiling, or else running, says; None without MPI."""
    folder = model.folder.parent
    if trial.processes == "mpi" and not shutil.which("mpirun"):
        return None
    source = folder / "feature.mlir"
    source.write_text(trial.edit(model.source.read_text()))
    program = folder / "feature"
    if trial.plan:
        planned = folder / "planned.mlir"
        done = call([find_rondo(), "plan", str(source), "-o", str(planned), *trial.plan])
        if done.returncode != 0:
            return done
        source = planned
    command = [find_rondo(), "compile", str(source), "--library", str(model.library)]
    done = call([*command, "-o", str(program), *trial.compile])
    if done.returncode != 0:
        return done
    if not trial.processes:
        return call([str(program), *trial.run])
    flags = ["--data", str(data), "--iterations", "3", "--quiet"]
    flags += ["--init", str(model.folder / "init.safetensors"), "--save"]
    saves = [folder / f"feature-{name}.safetensors" for name in ("processes", "threads")]
    together = [str(program), *flags, str(saves[0])]
    if trial.processes == "mpi":
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]
        done = call([*launcher, *together])
    else:
        done = run_processes(together, 2, folder)
    if done.returncode != 0:
        return done
    call([str(model.compile()), *flags, str(saves[1])])
    equal = contents(saves[0]) == contents(saves[1])
    done.stdout += "PASS: the bits of threads" if equal else "other bits than threads"
    return done


def check_backward(model: Model, data: Path, checks: Checks) -> None:
    """Schedules that run I and W together call B."""
    made = {e["layer"]: e["backward"] for e in model.report["layers"]}
    holds = made["h0"] == made["head"] == "one graph"
    checks.check("backward: in one graph", holds, str(made))
    trace = model.folder / "trace.json"
    program = model.compile("schedule_1f1b")
    flags = ["--data", str(data), "--iterations", "1", "--quiet", "--trace", str(trace)]
    call([str(program), *flags, "--init", str(model.folder / "init.safetensors")])
    checks.check("backward: called by 1F1B", '"1B0"' in trace.read_text())


def export_mixing(out: Path, rows: int) -> Model:
    """A model whose embedding has so many rows, of as many tokens as others."""
    layers = models.mixing()
    layers["embedding"].wte = torch.nn.Embedding(rows, 32)
    tokens = torch.randint(0, rows, (models.SAMPLES, models.TOKENS))
    return export_stages(
        layers, tokens, models.loss, tokens, out=out, microbatches=4, vocab=models.VOCAB
    )


def check_other_bits(folder: Path, checks: Checks) -> None:
    """A B with other bits than I and W is left out."""
    run = check.ProbeRunner.run

    def other_bits(
        self: check.ProbeRunner, buffers: check.Buffers, kind: str, loss_scale: float
    ) -> None:
        run(self, buffers, kind, loss_scale)
        if kind == "B":
            buffers.values["gradients", 0][0] ^= 1

    check.ProbeRunner.run = other_bits  # type: ignore[method-assign]
    try:
        model = export_mixing(folder / "other-bits", models.VOCAB)
    finally:
        check.ProbeRunner.run = run  # type: ignore[method-assign]
    words = {e["layer"]: e["backward"] for e in model.report["layers"]}
    holds = words["m0"] == "I and then W: one graph gives other bits"
    holds = holds and "backward_workspace_bytes" not in model.source.read_text()
    checks.check("backward: left out if bits differ", holds, str(words))
    done = call([str(model.compile()), "--verify"])
    checks.check("backward: left out, verify", done.returncode == 0, done.stderr)


def check_failing_task(folder: Path, checks: Checks) -> None:
    """A token that a graph refuses ends the run with the task's name."""
    model = export_mixing(folder / "failing", 40)
    data = folder / "letters"
    data.write_bytes(bytes(range(65, 91)) * 40)
    initial = model.folder / "init.safetensors"
    done = call([str(model.compile()), "--data", str(data), "--init", str(initial)])
    words = r"error: layer 'embedding': F of micro-batch \d: graph '\w+' failed: .*index out of"
    holds = done.returncode == 1 and re.search(words, done.stderr) is not None
    checks.check("a task that fails", holds, done.stderr.strip().splitlines()[-1])


def call(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def check_constants(folder: Path, checks: Checks) -> None:
    """Frozen parameters as constants of the library go with sharded state."""
    layers = models.mixing()
    layers["m0"].gate.requires_grad_(False)
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    model = export_stages(
        layers, tokens, models.loss, tokens, out=folder / "constants", microbatches=4,
        samples=[1], placement=[0, 1, 1, 1], frozen_are_constants=True,
    )  # fmt: skip
    names = contents(model.folder / "init.safetensors")
    holds = "m0.value.weight" in names and "m0.gate.weight" not in names
    checks.check("constants: not among the weights", holds)
    (folder / "text").write_bytes(bytes(range(32, 127)) * 40)
    done = attempt(Trial(on("[1, 2] sharded<weights>")), model, folder / "text")
    assert done is not None
    checks.check(
        "constants: sharded state", done.returncode == 0 and "PASS" in done.stdout, done.stderr
    )
    save = folder / "constants.safetensors"
    model.run("--data", str(folder / "text"), "--iterations", "2", "--save", str(save))
    fresh = models.mixing()
    before = fresh["m0"].gate.weight.detach().clone()
    model.load(fresh, save)
    kept = torch.equal(before, fresh["m0"].gate.weight)
    loaded = not torch.equal(layers["m0"].value.weight, fresh["m0"].value.weight)
    checks.check("constants: stay in the modules", kept and loaded)
