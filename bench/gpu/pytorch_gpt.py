#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a compiled GPT-2 in PyTorch, with which bench.py compares Rondo.

The same model (pre-norm, biases, GELU by tanh, learned positions, tied head),
the same micro-batches, fp32 weights and gradients with bf16 compute, the
gradients' norm clipped at 1, fused AdamW. The vocabulary is padded to a multiple
of 64, which PyTorch needs for its fast products. --attention cudnn takes cuDNN's
kernels instead of FlashAttention 2, PyTorch's choice. --deterministic asks for
kernels that give the same bits each time, as Rondo's do. The last line is JSON: seconds
of each measured iteration, the mean loss of the last one, and PyTorch's version.
--device cpu is for trying the script.
"""

import argparse
import json
import os
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden)
        self.down = nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, sequence, hidden = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, sequence, hidden))
        y = functional.gelu(self.up(self.norm2(x)), approximate="tanh")
        return x + self.down(y)


class Gpt(nn.Module):
    def __init__(self, vocab, sequence, layers, hidden, heads):
        super().__init__()
        self.token = nn.Embedding(vocab, hidden)
        self.position = nn.Embedding(sequence, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.token.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("vocab", 50304), ("sequence", 1024), ("layers", 12),
                          ("hidden", 768), ("heads", 12), ("batch", 8),
                          ("microbatches", 8), ("warm-up", 10), ("measure", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--attention", choices=("default", "cudnn"), default="default")
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    device = options.device
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    if options.deterministic:
        # cuBLAS reads this when it starts.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # Operations without a deterministic kernel only warn.
        torch.use_deterministic_algorithms(True, warn_only=True)
    if options.attention == "cudnn":
        torch.backends.cuda.enable_cudnn_sdp(True)
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_math_sdp(False)
    model = Gpt(options.vocab, options.sequence, options.layers, options.hidden,
                options.heads).to(device)
    # As in Rondo: matrices decay, biases and norms do not.
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in model.parameters() if p.dim() > 1],
          "weight_decay": 0.1},
         {"params": [p for p in model.parameters() if p.dim() <= 1],
          "weight_decay": 0.0}], lr=1e-4, betas=(0.9, 0.95), fused=True)
    step = torch.compile(model)
    shape = (options.microbatches, options.batch, options.sequence)
    # Below GPT-2's own vocabulary.
    words = min(options.vocab, 50257)
    tokens = torch.randint(0, words, shape, device=device)
    targets = torch.randint(0, words, shape, device=device)

    seconds = []
    for _ in range(options.warm_up + options.measure):
        synchronize()
        start = time.perf_counter()
        total = 0
        for m in range(options.microbatches):
            with torch.autocast(device, dtype=torch.bfloat16):
                loss = step(tokens[m], targets[m]) / options.microbatches
            loss.backward()
            total = total + loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds[options.warm_up:],
                      "loss": float(total),
                      "version": torch.__version__}))


if __name__ == "__main__":
    main()
