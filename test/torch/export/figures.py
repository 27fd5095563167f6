# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of an exported model: 100 iterations next to PyTorch, equal bits under many
schedules, in processes and after another export, and memory that does not grow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import torch

import eager
import models
from programs import CONSTANT_RATE, Checks, contents, losses_of, run_processes
from samples import Text
from rondo.torch.export import Model, export_stages, read_model

LONG, SHORT = 100, 6
SCHEDULES = ("1f1b", "gpipe", "eager-1f1b", "zb-h1", "zb-h2", "kfkb:k=2", "search:effort=50")


def export_gpt(out: Path, cache: Path | None = None) -> Model:
    torch.manual_seed(0)
    layers = models.gpt()
    tokens = torch.randint(0, models.VOCAB, (models.SAMPLES, models.TOKENS))
    return export_stages(
        layers, tokens, models.loss, torch.roll(tokens, -1, 1), out=out, ranks=2,
        microbatches=eager.MICROBATCHES, schedules=SCHEDULES, cache=cache,
    )


def check_figures(folder: Path, checks: Checks) -> None:
    folder.mkdir(exist_ok=True)
    model = export_gpt(folder / "gpt")
    check_long_run(model, folder, checks)
    check_bits(model, folder, checks)
    check_memory(model, folder, checks)


def text_of(folder: Path) -> Path:
    """Text that is not learnt within LONG iterations."""
    path = folder / "text"
    state = torch.Generator().manual_seed(0)
    path.write_bytes(bytes(torch.randint(32, 127, (4000,), generator=state).tolist()))
    return path


def check_long_run(model: Model, folder: Path, checks: Checks) -> None:
    text = text_of(folder)
    torch.manual_seed(0)
    layers = models.gpt()
    wanted = eager.eager_losses(
        layers, {}, Text(text), range(1, LONG + 1), eager.adamw(layers)
    )
    model.compile("zb_h1")
    log = folder / "long.jsonl"
    log.unlink(missing_ok=True)
    flags = ["--data", str(text), "--iterations", str(LONG), *CONSTANT_RATE]
    model.run(*flags, "--json-log", str(log))
    far = max(abs(a - b) / b for a, b in zip(losses_of(log), wanted, strict=True))
    words = f"loss from {wanted[0]:.3f} to {wanted[-1]:.3f}, {far:.1e} from PyTorch's"
    checks.check(f"figures: {LONG} iterations of AdamW", far <= 1e-5, words)


def check_bits(model: Model, folder: Path, checks: Checks) -> None:
    """Under families and a searched order, in one process and in two, and after an
    export by another process that compiles everything again."""
    names = re.findall(r"pipe.schedule @(\w+)", model.source.read_text())
    flags = ["--data", str(text_of(folder)), "--iterations", str(SHORT), "--quiet"]
    flags += ["--init", str(model.folder / "init.safetensors"), "--save"]
    save = folder / "bits.safetensors"

    def bits(program: Path, processes: int) -> dict[str, bytes]:
        done = run_processes([str(program), *flags, str(save)], processes, folder)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return contents(save)

    first = bits(model.compile(names[0]), 1)
    for name in names:
        program = model.compile(name)
        for processes in (1, 2):
            holds = bits(program, processes) == first
            checks.check(f"figures: bits of @{name}, {processes} processes", holds)
    again = folder / "again"
    subprocess.run(
        [sys.executable, __file__, str(again)],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(again / "inductor")},
        check=True,
        capture_output=True,
    )
    repeated = read_model(again / "gpt")
    # A body's name is a hash of its graphs, and of where their tensors lie.
    bodies = [[layer["body"] for layer in m.report["layers"]] for m in (model, repeated)]
    checks.check("figures: graphs of another export are the same", bodies[0] == bodies[1])
    holds = bits(repeated.compile(names[0]), 1) == first
    checks.check("figures: bits after another export", holds)


#: Bytes that a program may take between two iterations, about 140 for each of 900. One
#: tensor's header that a task does not return is 200, and a task has many.
MAX_GROWTH = 128 << 10


def check_memory(model: Model, folder: Path, checks: Checks) -> None:
    """The memory that a program uses after 100 and after 1,000 iterations."""
    program = model.compile("zb_h1")
    log = folder / "memory.jsonl"
    log.unlink(missing_ok=True)
    flags = ["--data", str(text_of(folder)), "--iterations", "1100", "--quiet"]
    flags += ["--init", str(model.folder / "init.safetensors"), "--json-log", str(log)]
    process = subprocess.Popen([str(program), *flags], stdout=subprocess.PIPE)
    sizes: dict[int, int] = {}
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        done = log.read_bytes().count(b"\n") if log.exists() else 0
        for mark in (100, 1000):
            if done >= mark and mark not in sizes:
                status = Path(f"/proc/{process.pid}/status").read_text()
                found = re.search(r"RssAnon:\s+(\d+) kB", status)
                sizes[mark] = 1024 * int(found[1]) if found else 0
        time.sleep(0.005)
    process.kill()
    process.communicate()
    holds = len(sizes) == 2 and 0 < sizes[1000] <= sizes[100] + MAX_GROWTH
    words = [f"{size} bytes after {mark} iterations" for mark, size in sizes.items()]
    checks.check("figures: no growth of memory", holds, ", ".join(words))


if __name__ == "__main__":
    export_gpt(Path(sys.argv[1]) / "gpt", Path(sys.argv[1]) / "cache")
