# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares exported PyTorch models with PyTorch and with Rondo's own layers.

    torch_export.py FOLDER [--blocks N] [--runs N] [--part blocks|pipelines]

The model is a GPT of N blocks (hidden 144, 4 heads, 4 samples of 128 tokens), the
sizes of examples/gpt-small.mlir. `blocks`: forward and backward of the whole model on
one thread, in turns: Rondo's own, exported, torch.compile, eager.
`pipelines`: an iteration of 8 micro-batches under 1F1B in 2 processes: the exported
program over TCP and in threads, Rondo's own program, and the same modules in
PyTorch's pipeline runtime over gloo, eager and compiled. Medians of the runs, and
the largest memory of a process. Needs what `make test-export` needs; run it with that
environment's Python and RONDO set.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time
from typing import Callable

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "test" / "torch" / "export"))
import models  # noqa: E402

import rondo  # noqa: E402
import rondo.torch  # noqa: E402
from rondo.command import find_rondo  # noqa: E402

SAMPLES, TOKENS, WIDTH, HEADS = 4, 128, 144, 4
MICROBATCHES, ITERATIONS = 8, 20
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONWARNINGS": "ignore"}

models.SAMPLES, models.TOKENS = SAMPLES, TOKENS


def example() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(0, models.VOCAB, (SAMPLES, TOKENS))


def exported(folder: pathlib.Path, blocks: int, ranks: int = 2) -> pathlib.Path:
    """The program of the exported model."""
    tokens = example()
    model = rondo.torch.export_stages(
        models.gpt(WIDTH, HEADS, blocks), tokens, models.loss, torch.roll(tokens, -1, 1), out=folder / "exported",
        ranks=ranks, microbatches=MICROBATCHES, schedules=("1f1b",), placement=placement(blocks, ranks),
    )
    return model.compile()


def placement(blocks: int, ranks: int = 2) -> list[int]:
    """The rank of each layer: one, or half of the blocks each."""
    return [0] * (blocks + 2) if ranks == 1 else [0] * (1 + blocks // 2) + [1] * (blocks - blocks // 2 + 1)


def own(folder: pathlib.Path, blocks: int, ranks: int = 2) -> pathlib.Path:
    """The program of Rondo's own layers of these sizes."""
    names = [f"@h{i}" for i in range(blocks)]
    stages = [["@wte", *names, "@ln_f"]]
    if ranks == 2:
        stages = [["@wte", *names[: blocks // 2]], [*names[blocks // 2 :], "@ln_f"]]
    text = f"""
pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {{
  {' '.join(f'pipe.device @rank{r} <flops_per_us = 40000>' for r in range(ranks))}
}}
pipe.model @gpt gpt<vocab = {models.VOCAB}, sequence = {TOKENS}, hidden = {WIDTH}, heads = {HEADS},
                    ffn = {4 * WIDTH}, batch = {SAMPLES}> {{
  pipe.layer @wte embedding
  {' '.join(f'pipe.layer {name} block' for name in names)}
  pipe.layer @ln_f head
}}
pipe.plan @step of @gpt on @machine microbatches({MICROBATCHES}) {{
  {' '.join(f'pipe.stage @s{r} [{", ".join(layers)}] on {r}' for r, layers in enumerate(stages))}
}}
pipe.schedule @one of @step family<"1f1b">
"""
    (folder / "own.mlir").write_text(text)
    program = folder / "own"
    subprocess.run([find_rondo(), "compile", folder / "own.mlir", "-o", program], check=True, capture_output=True)
    return program


# ---- one block ---------------------------------------------------------------------


def stage_time(program: pathlib.Path, folder: pathlib.Path, data: pathlib.Path | None = None) -> dict[str, float]:
    """F, I and W of the first stage in ms, as --profile measures them."""
    costs = folder / "costs.json"
    subprocess.run([program, "--profile", costs, "--iterations", "6", "--threads", "1",
                    *(["--data", data] if data else data_of(folder))], check=True, capture_output=True, env=ENVIRONMENT)
    stage = json.loads(costs.read_text())["stages"][0]
    return {kind: stage[f"{kind}_ns"] / 1e6 for kind in ("forward", "input_grad", "weight_grad")}


def time_in_torch(
    layers: dict[str, torch.nn.Module], call: Callable[[], torch.Tensor], compiles: bool
) -> float:
    """Median milliseconds of processor time of a loss and its gradients."""
    torch.set_num_threads(1)
    torch.compiler.reset()
    compute = torch.compile(call) if compiles else call
    parameters = [p for p in torch.nn.ModuleDict(layers).parameters() if p.requires_grad]
    times = []
    for _ in range(40):
        begin = time.thread_time()
        torch.autograd.grad(compute(), parameters, allow_unused=True)
        times.append(1e3 * (time.thread_time() - begin))
    return statistics.median(times[10:])


def gpt_in_torch(blocks: int, compiles: bool) -> float:
    layers, tokens = models.gpt(WIDTH, HEADS, blocks), example()
    model = torch.nn.Sequential(*layers.values())
    return time_in_torch(layers, lambda: models.loss(model(tokens), tokens), compiles)


def compare_blocks(folder: pathlib.Path, blocks: int, runs: int) -> None:
    """All layers in one stage, so that nothing else computes meanwhile."""
    for name in ("whole-exported", "whole-own"):
        (folder / name).mkdir(exist_ok=True)
    programs = {
        "exported": exported(folder / "whole-exported", blocks, ranks=1),
        "own": own(folder / "whole-own", blocks, ranks=1),
    }
    tables: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    wholes: dict[str, list[float]] = {"torch.compile": [], "eager": []}
    for _ in range(runs):
        for name, program in programs.items():
            tables[name].append(stage_time(program, folder))
        wholes["torch.compile"].append(gpt_in_torch(blocks, True))
        wholes["eager"].append(gpt_in_torch(blocks, False))
    print(f"{blocks} blocks, embedding and head, one micro-batch, ms: F, I, W, together")
    sums = {}
    for name, table in tables.items():
        parts = [statistics.median(row[kind] for row in table) for kind in table[0]]
        sums[name] = sum(parts)
        print(f"  {name:14} {parts[0]:6.2f} {parts[1]:6.2f} {parts[2]:6.2f} {sums[name]:7.2f}")
    for name, times in wholes.items():
        sums[name] = statistics.median(times)
        print(f"  {name:14} {'':20} {sums[name]:7.2f}")
    for name in ("own", "torch.compile", "eager"):
        print(f"  exported / {name}: {sums['exported'] / sums[name]:.3f}")


# ---- pipelines ---------------------------------------------------------------------


def data_of(folder: pathlib.Path) -> list[str]:
    path = folder / "text"
    path.write_bytes(bytes(range(32, 127)) * 200)
    return ["--data", str(path)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peak_of(process: subprocess.Popen[str]) -> int:
    """The largest memory so far in bytes; 0 when it has ended. What the system says of
    an ended process includes the memory of the one that started it."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return 1024 * int(found[1]) if found else 0


def run_all(commands: list[list[str]]) -> tuple[str, int]:
    """The output of the first command, and the largest memory of a process in bytes."""
    started = [subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) for command in commands]
    memory = 0
    while any(process.poll() is None for process in started):
        memory = max(memory, *(peak_of(process) for process in started))
        time.sleep(0.05)
    texts = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"a process failed:\n{texts[0][-2000:]}")
    return texts[0], memory


def iterations_of(log: pathlib.Path) -> float:
    """Median seconds of an iteration, without the first three."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    times = [row["ns"] / 1e9 for row in rows if "loss" in row]
    return statistics.median(times[3:])


def run_program(program: pathlib.Path, folder: pathlib.Path, processes: bool) -> tuple[float, int]:
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    words = [str(program), *data_of(folder), "--iterations", str(ITERATIONS), "--quiet", "--json-log", str(log)]
    initial = program.parent / "init.safetensors"
    if initial.exists():
        words += ["--init", str(initial)]
    commands = [words]
    if processes:
        place = ["--world-size", "2", "--rdzv", f"127.0.0.1:{free_port()}"]
        commands = [[*words, *place, "--rank", str(r), "--local-rank", str(r)] for r in range(2)]
    _, memory = run_all(commands)
    return iterations_of(log), memory


def torch_process(folder: pathlib.Path, rank: int, blocks: int, compiles: bool) -> None:
    """One rank of PyTorch's pipeline runtime; prints seconds of its steps."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2,
        timeout=datetime.timedelta(seconds=300),
    )
    torch.manual_seed(0)
    layers = list(models.gpt(WIDTH, HEADS, blocks).values())
    ranks = placement(blocks)
    stages = [torch.nn.Sequential(*(m for m, r in zip(layers, ranks) if r == stage)) for stage in range(2)]
    if compiles:
        stages[rank].compile()
    stage = {"forward_ns": 1, "input_grad_ns": 1, "weight_grad_ns": 1, "activation_bytes": 0,
             "input_grad_frees_bytes": 0, "output_bytes": 0}
    problem = rondo.Problem.from_value({
        "format": "rondo-problem/1", "name": "two", "ranks": [{"memory_bytes": None}] * 2,
        "microbatches": MICROBATCHES, "stages": [{"rank": rank, **stage} for rank in range(2)]})
    schedule = rondo.simulate(problem, "1f1b")[0]
    mine = rondo.torch.make_stages(stages, [0, 1], "cpu")
    run = rondo.torch.runtime(mine, schedule, models.loss, problem=problem)
    optimizer = torch.optim.AdamW(stages[rank].parameters(), lr=1e-3)
    batch = torch.randint(0, models.VOCAB, (SAMPLES * MICROBATCHES, TOKENS + 1))
    times = []
    for _ in range(ITERATIONS):
        torch.distributed.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad()
        inputs = [batch[:, :-1]] if rank == 0 else []
        targets = {"target": batch[:, 1:], "losses": []} if rank == 1 else {}
        run.step(*inputs, **targets)
        torch.nn.utils.clip_grad_norm_(stages[rank].parameters(), 1.0)
        optimizer.step()
        torch.distributed.barrier()
        times.append(time.perf_counter() - begin)
    print(f"seconds {statistics.median(times[3:])}")
    torch.distributed.destroy_process_group()


def run_torch(folder: pathlib.Path, blocks: int, compiles: bool) -> tuple[float, int]:
    (folder / "store").unlink(missing_ok=True)
    words = [sys.executable, __file__, str(folder), "--blocks", str(blocks), "--rank"]
    commands = [[*words, str(rank), *(["--compiles"] if compiles else [])] for rank in range(2)]
    text, memory = run_all(commands)
    found = re.search(r"seconds (\S+)", text)
    assert found
    return float(found[1]), memory


def compare_pipelines(folder: pathlib.Path, blocks: int, runs: int) -> None:
    for name in ("exported", "own"):
        (folder / f"pipeline-{name}").mkdir(exist_ok=True)
    of_export, of_own = exported(folder / "pipeline-exported", blocks), own(folder / "pipeline-own", blocks)
    cases = {
        "exported, threads": lambda: run_program(of_export, folder, False),
        "exported, TCP": lambda: run_program(of_export, folder, True),
        "own layers, TCP": lambda: run_program(of_own, folder, True),
        "PyTorch, gloo, eager": lambda: run_torch(folder, blocks, False),
        "PyTorch, gloo, compiled": lambda: run_torch(folder, blocks, True),
    }
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            found[name].append(case())
    print(f"an iteration of {MICROBATCHES} micro-batches, {blocks} blocks, 1F1B on 2 ranks")
    for name, rows in found.items():
        times = sorted(row[0] for row in rows)
        print(f"  {name:24} {1e3 * statistics.median(times):7.1f} ms ({1e3 * times[0]:.1f} to {1e3 * times[-1]:.1f}), "
              f"{max(row[1] for row in rows) / 2**20:.0f} MiB a process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--part", choices=("blocks", "pipelines"))
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--compiles", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.rank is not None:
        torch_process(folder, options.rank, options.blocks, options.compiles)
        return
    folder.mkdir(parents=True, exist_ok=True)
    if options.part != "pipelines":
        compare_blocks(folder, options.blocks, options.runs)
    if options.part != "blocks":
        compare_pipelines(folder, options.blocks, options.runs)


if __name__ == "__main__":
    main()
