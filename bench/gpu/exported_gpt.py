#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a GPT for GPUs, for scripts/gpu-export.sh.

    exported_gpt.py FOLDER [--dtype bf16|fp32] [--arch sm_90] [--seed N] [--blocks N] ...

Writes FOLDER/exported, the program `train` in it, and the program FOLDER/own of
Rondo's own layers of the same sizes. Needs PyTorch 2.15, the CUDA toolkit and RONDO,
but no GPU if --arch names one; with a GPU each task is compared with eager
execution. Prints how long the export and the compilation take, and how far tasks are
from eager execution. With --pytorch it times the modules in PyTorch instead, compiled
and replayed as a CUDA graph, which needs a GPU.
"""

import argparse
import pathlib
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional

import pytorch_gpt

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
OWN = """pipe.cluster @machine {{ pipe.device @gpu }}
pipe.model @gpt gpt<vocab = {vocab}, sequence = {sequence}, hidden = {hidden}, heads = {heads},
                    ffn = {ffn}, batch = {batch}> {{
{layers}
}}
pipe.plan @plan of @gpt on @machine microbatches({microbatches}) target<cuda, {dtype}> {{
  pipe.stage @s0 [{names}] on 0
}}
pipe.schedule @one of @plan family<"1f1b">
"""


class Embedding(nn.Module):
    def __init__(self, vocab, sequence, hidden):
        super().__init__()
        self.wte = nn.Embedding(vocab, hidden)
        self.wpe = nn.Embedding(sequence, hidden)

    def forward(self, tokens):
        return self.wte(tokens) + self.wpe.weight


def layers_of(sizes):
    hidden = sizes.hidden
    head = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, sizes.vocab, bias=False))
    blocks = {f"h{i}": pytorch_gpt.Block(hidden, sizes.heads) for i in range(sizes.blocks)}
    return {"embedding": Embedding(sizes.vocab, sizes.sequence, hidden), **blocks, "head": head}


def loss(output, targets):
    return functional.cross_entropy(output.flatten(0, 1), targets.flatten().long())


def export(sizes):
    import rondo.torch
    from rondo.command import find_rondo

    folder = pathlib.Path(sizes.folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokens = torch.randint(0, sizes.vocab, (sizes.batch, sizes.sequence))
    begin = time.time()
    model = rondo.torch.export_stages(
        layers_of(sizes), tokens, loss, tokens, out=folder / "exported", ranks=1, schedules=("1f1b",),
        microbatches=sizes.microbatches, vocab=sizes.vocab, device="cuda", arch=sizes.arch, dtype=DTYPES[sizes.dtype],
    )
    middle = time.time()
    program = model.compile()
    end = time.time()
    found = model.report["layers"]
    far = max(layer["gradient_difference"] for layer in found)
    print(f"export {middle - begin:.0f} s, compile {end - middle:.0f} s: {program}")
    print(f"kernels {model.report['kernels']}; gradients within {far:.1e} of the largest")
    names = ["wte", *(f"h{i}" for i in range(sizes.blocks)), "ln_f"]
    kinds = ["embedding", *["block"] * sizes.blocks, "head"]
    text = OWN.format(
        **vars(sizes), ffn=4 * sizes.hidden, names=", ".join(f"@{n}" for n in names),
        layers="\n".join(f"  pipe.layer @{n} {k}" for n, k in zip(names, kinds)),
    )
    (folder / "own.mlir").write_text(text)
    subprocess.run([find_rondo(), "compile", folder / "own.mlir", "-o", folder / "own"], check=True)


def time_pytorch(sizes):
    model = nn.Sequential(*layers_of(sizes).values()).cuda().to(DTYPES[sizes.dtype])
    tokens = torch.randint(0, sizes.vocab, (sizes.batch, sizes.sequence), device="cuda")
    step = torch.compile(lambda: loss(model(tokens).float(), tokens), mode="reduce-overhead")
    times = []
    for _ in range(20):
        begin = time.time()
        for _ in range(sizes.microbatches):
            step().backward()
        torch.cuda.synchronize()
        times.append(time.time() - begin)
    print(f"PyTorch, compiled, forward and backward: median {sorted(times[5:])[7] * 1e3:.2f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--arch")
    parser.add_argument("--pytorch", action="store_true")
    for name, default in (("seed", 0), ("vocab", 256), ("sequence", 1024), ("hidden", 1024), ("heads", 16),
                          ("blocks", 2), ("batch", 8), ("microbatches", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    sizes = parser.parse_args()
    torch.manual_seed(sizes.seed)
    (time_pytorch if sizes.pytorch else export)(sizes)


if __name__ == "__main__":
    main()
