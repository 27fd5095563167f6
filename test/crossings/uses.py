# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is done with a plan: commands and runs, each with the check of its result."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Callable

from run import Run, Wrong, checkpoint

EFFORT = ("--effort", 20)


def same_tensors(one: Path, other: Path) -> None:
    left, right = checkpoint.read(one)[1], checkpoint.read(other)[1]
    if left != right:
        raise Wrong(f"{one.name} and {other.name} have other tensors")


def same_state(one: Path, other: Path) -> None:
    """Tensors and position; the name of the schedule may differ."""
    same_tensors(one, other)
    left, right = (checkpoint.read(path)[0] for path in (one, other))
    if left["step"] != right["step"]:
        raise Wrong(f"{one.name} and {other.name} have other iterations")


def train_to(run: Run, name: str, *flags: object, iterations: int = 4) -> Path:
    path = run.path(name)
    run.train("--data", run.data, "--iterations", iterations, "--decay", 4, "--quiet", "--save", path, *flags)
    return path


def one_rank(run: Run, *flags: object) -> str:
    """Runs the same model on one rank."""
    file = run.path("one-rank.mlir")
    file.write_text(run.plan.on_one_rank())
    run.rondo("compile", file, *run.library_flags(), "-o", "one-rank")
    return run.command([str(run.path("one-rank")), *run.train_flags, *map(str, flags)])


# Runs.


def from_one_rank(run: Run) -> None:
    begun = run.path("begun.safetensors")
    one_rank(run, "--data", run.data, "--iterations", 2, "--decay", 4, "--quiet", "--save", begun)
    run.compile()
    train_to(run, "ended.safetensors", "--resume", begun)


def to_one_rank(run: Run) -> None:
    run.compile()
    begun = train_to(run, "begun.safetensors", iterations=2)
    one_rank(run, "--data", run.data, "--iterations", 4, "--decay", 4, "--quiet", "--resume", begun)


def resumed(run: Run) -> None:
    """A run that was interrupted has the bits of one that was not, drained where it was."""
    run.compile()
    drained = ("--drain-every", 2) if run.asynchronous else ()
    begun = train_to(run, "begun.safetensors", *drained, iterations=2)
    ended = train_to(run, "ended.safetensors", "--resume", begun, *drained)
    same_state(ended, train_to(run, "whole.safetensors", *drained))


def save_every(run: Run) -> None:
    run.compile()
    drained = ("--drain-every", 2) if run.asynchronous else ()
    saved = train_to(run, "saved.safetensors", "--save-every", 2, *drained)
    same_tensors(saved, train_to(run, "whole.safetensors", *drained))


def terminated(run: Run) -> None:
    """SIGTERM writes a checkpoint, exit code 4, from which a run goes on."""
    run.compile()
    saved = run.path("saved.safetensors")
    command = [str(run.path("train")), *run.train_flags, "--data", str(run.data), "--iterations", "1000000", "--save", str(saved)]
    process = run.start(command)
    assert process.stdout
    for line in process.stdout:
        if "iteration 2/" in line:
            break
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    if process.returncode != 4:
        raise Wrong(f"exit code {process.returncode} after SIGTERM: {errors}")
    stopped = int(checkpoint.read(saved)[0]["step"])
    run.train("--data", run.data, "--iterations", stopped + 1, "--quiet", "--resume", saved)


def tokens(run: Run) -> None:
    """A file of tokens in llm.c's format."""
    words = [20240520, 1, 8000] + [0] * 253
    numbers = [i * 7 % 256 for i in range(8000)]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    data += b"".join(number.to_bytes(2, "little") for number in numbers)
    run.path("tokens.bin").write_bytes(data)
    run.compile()
    # GPT-2's end of text is outside the vocabulary of programs that draw documents.
    end = ["--end-token", 0] if "tokens<" in run.plan.documents else []
    run.train("--data", run.path("tokens.bin"), "--iterations", 2, "--quiet", *end)


def generate(run: Run) -> None:
    """The tokens of one rank."""
    run.compile()
    saved = train_to(run, "saved.safetensors", iterations=2)
    asked = ["--init", saved, "--generate-tokens", "1,2,3", "--tokens", 4, "--temperature", 0]
    expected = one_rank(run, *asked)
    found = run.train(*asked)
    if found.split("\n")[-2:] != expected.split("\n")[-2:]:
        raise Wrong(f"generated {found}, on one rank {expected}")


def trace(run: Run) -> None:
    run.compile()
    run.train("--data", run.data, "--iterations", 3, "--quiet", "--trace", run.path("trace.json"))
    json.loads(run.path("trace.json").read_text())


def diff(run: Run) -> None:
    run.compile()
    drained = ("--drain-every", 1) if run.asynchronous else ()
    run.train("--data", run.data, "--iterations", 3, "--quiet", "--trace", run.path("trace.json"), *drained)
    run.rondo("diff", run.file, run.path("trace.json"))


def profile(run: Run) -> None:
    """Measured costs are costs of the plan."""
    run.compile()
    run.train("--profile", run.path("costs.json"), "--quiet")
    run.rondo("simulate", run.file, "--costs", run.path("costs.json"))
    run.compile("--costs", run.path("costs.json"), output="measured")
    run.verify(program="measured")


def links(run: Run) -> None:
    """The measured links are a cluster to plan for."""
    run.compile()
    links, model = run.path("links.mlir"), run.path("model.mlir")
    run.train("--data", run.data, "--iterations", 2, "--links", "--links-file", links)
    model.write_text("pipe.model @m gpt<vocab = 64, sequence = 8, hidden = 8, heads = 1, ffn = 8, batch = 1> {\n"
                     "  pipe.layer @wte embedding  pipe.layer @lm_head head }\n")
    run.rondo("plan", model, links, "--samples", 4, "--effort", 1, "-o", "planned.mlir")


def imposed_links(run: Run) -> None:
    run.compile("--impose-links")
    run.check_losses("--link", "100:1000")


def checked_messages(run: Run) -> None:
    run.compile()
    run.check_losses("--check-messages")


def copy_order(run: Run) -> None:
    """Copies over a link that all ranks share go in an order: that of a run without one."""
    run.plan.offload = run.plan.offload or "all"
    run.plan.shared_link = True
    run.file.write_text(run.plan.text())
    run.compile(output="free")
    trace = run.path("trace.json")
    run.train("--data", run.data, "--iterations", 2, "--quiet", "--trace", trace, program="free")
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "copy"]
    last = [event for event in events if event["args"]["iteration"] == 2]
    order = []
    for event in sorted(last, key=lambda event: float(event["ts"])):
        stage, replica, microbatch = (event["args"][key] for key in ("stage", "replica", "microbatch"))
        order.append(f"pipe.{event['args']['kind'].lower()} @s{stage}:{replica}[{microbatch}]")
    run.compile("--emit=schedule", output="frozen.mlir")
    text = run.path("frozen.mlir").read_text()
    # In its module.
    end = text.index("\n  }\n", text.index("  pipe.schedule")) + 1
    ordered = f"  pipe.copy_order 0 {{ {' '.join(order)} }}\n" if order else ""
    run.path("ordered.mlir").write_text(text[:end] + ordered + text[end:])
    run.check(file=run.path("ordered.mlir"))


# Schedules and programs as files.


def frozen(run: Run) -> None:
    """The schedule that --emit=schedule writes is one by hand."""
    run.compile("--emit=schedule", output="frozen.mlir")
    run.check(file=run.path("frozen.mlir"))


def lowered(run: Run) -> None:
    run.compile("--emit=lowered", output="lowered.mlir")
    run.check(file=run.path("lowered.mlir"))


def schedule_file(run: Run) -> None:
    run.rondo("export", "rondo-schedule", run.file, "--schedule", "a", "-o", "a.json")
    run.check("--schedule-file", run.path("a.json"))


def exported_and_imported(run: Run) -> None:
    run.rondo("export", "rondo-schedule", run.file, "--schedule", "a", "-o", "a.json", "--problem-output", "p.json")
    run.rondo("import", "rondo-schedule", "a.json", "--problem", "p.json", "-o", "imported.mlir")
    run.rondo("verify", "imported.mlir")


def search_file(run: Run) -> None:
    """A searched order, as JSON for the plan."""
    run.rondo("search", run.file, *EFFORT, "-o", "found.json", "--problem-output", "problem.json")
    run.check("--schedule-file", run.path("found.json"))


def search_mlir(run: Run) -> None:
    run.rondo("search", run.file, *EFFORT, "-o", "found.mlir")
    run.check(file=run.path("found.mlir"))


def searching(*flags: object) -> Callable[[Run], None]:
    def use(run: Run) -> None:
        run.rondo("search", run.file, *EFFORT, *flags, "-o", "found.mlir")
        run.check(file=run.path("found.mlir"))

    return use


def search_window(run: Run) -> None:
    run.rondo("search", run.file, *EFFORT, "--iterations", 6, "--policy", "pipedream", "-o", "window.mlir")
    run.asynchronous = True
    run.check(file=run.path("window.mlir"))


def window_file(run: Run) -> None:
    run.rondo("search", run.file, *EFFORT, "--iterations", 6, "--policy", "pipedream", "-o", "window.json")
    run.asynchronous = True
    run.check("--schedule-file", run.path("window.json"))


def pareto(run: Run) -> None:
    run.rondo("search", run.file, "--pareto", "--points", 3, *EFFORT, "-o", "curve.jsonl")


def plan(run: Run) -> None:
    """A plan of the model and its cluster alone, and its program."""
    model, cluster = run.path("model.mlir"), run.path("cluster.mlir")
    model.write_text(run.plan.model())
    cluster.write_text(run.plan.cluster(run.plan.ranks))
    run.rondo("plan", model, cluster, "--samples", 16, *EFFORT, "-o", "planned.mlir")
    run.compile(file=run.path("planned.mlir"))
    run.verify()


# Reports.


def commanding(*arguments: object) -> Callable[[Run], None]:
    def use(run: Run) -> None:
        run.rondo(arguments[0], run.file, *arguments[1:])

    return use


def exporting(kind: str) -> Callable[[Run], None]:
    def use(run: Run) -> None:
        run.rondo("export", kind, run.file, "--schedule", "a", "-o", "exported")

    return use


# Programs of several schedules.


def several(run: Run) -> None:
    """Two schedules over one state alternate."""
    run.plan.more.append("pipe.schedule @b of @p search<effort = 20, seed = 1>")
    run.file.write_text(run.plan.text())
    run.compile("--schedule", "a,b")
    run.verify()
    run.check_losses("--schedule", "a:1,b:1")


def sizes(run: Run) -> None:
    """Two plans with micro-batches of different sizes."""
    run.plan.more += [
        run.plan.plan("q", 2 * run.plan.microbatches, "samples(2)"),
        "pipe.schedule @b of @q search<effort = 20>",
    ]
    run.file.write_text(run.plan.text())
    run.compile("--schedule", "a,b")
    run.verify()
    run.check_losses("--schedule", "a:1,b:1")


def with_asynchronous(run: Run) -> None:
    run.plan.more.append('pipe.schedule @b of @p family<"2bw">')
    run.file.write_text(run.plan.text())
    run.compile("--schedule", "a,b")
    run.verify()
    run.asynchronous = True
    run.check_losses("--schedule", "a:1,b:2")


def adaptive(run: Run) -> None:
    run.compile("--adaptive")
    run.verify()
    run.check_losses("--adapt", "on", "--adapt-every", "1", "--adapt-dwell", "1")


def adapt_search(run: Run) -> None:
    """A run that searches while it trains has the bits of one that does not."""
    run.compile("--adaptive")
    if "accumulate(schedule_order)" in run.plan.schedule:
        # Its sums are in another order than those of the schedules that are found.
        run.check_losses("--schedule", "a", "--adapt", "search", "--adapt-every", "1", "--adapt-dwell", "1")
        return
    still = train_to(run, "still.safetensors", "--schedule", "a")
    eagerly = ("--adapt-every", 1, "--adapt-dwell", 1)
    moving = train_to(run, "moving.safetensors", "--schedule", "a", "--adapt", "search", *eagerly)
    same_tensors(still, moving)


def candidates(run: Run) -> None:
    run.rondo("candidates", run.file, *EFFORT, "-o", "candidates.mlir")
    run.compile(file=run.path("candidates.mlir"))
    run.verify()


# GPUs.


def cuda(run: Run) -> None:
    """The program for GPUs, on the CPU: its own reference, and the losses of the CPU."""
    run.compile("--target=cuda", "--dtype=fp32", "--emit=cpp", output="gpu.cpp")
    bodies = [str(run.tools.libraries[name]) for name in run.plan.libraries]
    run.command(["c++", "-std=c++17", "-O0", "gpu.cpp", *bodies, *run.tools.emulation, "-o", "gpu"])
    run.verify(program="gpu")


USES: dict[str, Callable[[Run], None]] = {
    "a checkpoint of one rank": from_one_rank,
    "a checkpoint for one rank": to_one_rank,
    "--resume": resumed,
    "--save-every": save_every,
    "SIGTERM": terminated,
    "a file of tokens": tokens,
    "--generate": generate,
    "--trace": trace,
    "diff": diff,
    "--profile": profile,
    "--links": links,
    "--impose-links": imposed_links,
    "--check-messages": checked_messages,
    "pipe.copy_order": copy_order,
    "--emit=schedule": frozen,
    "--emit=lowered": lowered,
    "--schedule-file": schedule_file,
    "export and import": exported_and_imported,
    "search -o X.json": search_file,
    "search -o X.mlir": search_mlir,
    "search --placement": searching("--placement", "auto"),
    "search --chunks": searching("--chunks", "1,2"),
    "search --microbatches": searching("--microbatches", "4,8"),
    "search --iterations": search_window,
    "a window's --schedule-file": window_file,
    "search --pareto": pareto,
    "plan": plan,
    "verify": commanding("verify"),
    "simulate": commanding("simulate", "--timeline"),
    "simulate --family all": commanding("simulate", "--family", "all"),
    "simulate --explain": commanding("simulate", "--explain"),
    "compare": commanding("compare", "--effort", 20),
    "show": commanding("show", "-o", "shown.html"),
    "versions": commanding("versions"),
    "export torch-csv": exporting("torch-csv"),
    "export torch-csv-comms": exporting("torch-csv-comms"),
    "export torchtitan": exporting("torchtitan"),
    "export megatron": exporting("megatron"),
    "export megatron-layout": exporting("megatron-layout"),
    "export jaxpp": exporting("jaxpp"),
    "export primus": exporting("primus"),
    "several schedules": several,
    "several sizes": sizes,
    "synchronous and asynchronous": with_asynchronous,
    "--adaptive": adaptive,
    "--adapt search": adapt_search,
    "candidates": candidates,
    "--target=cuda": cuda,
}
