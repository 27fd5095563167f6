#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published layouts beside the ones that `rondo plan groups` finds for the same model,
devices, samples and stack.

cases.py RONDO: RONDO is build/bin/rondo. Each case prints the measured seconds of an
iteration, the predicted ones of the published layout, those of the best layout, and
that layout. Status 1 if a best layout is predicted to be slower than the published,
which fits.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile


def gpt(layers, hidden, heads, vocab=51200, sequence=2048):
    width = hidden // heads
    return {"layers": layers, "hidden": hidden, "heads": heads, "key_heads": heads, "query_width": width,
            "value_width": width, "ffn": 4 * hidden, "vocab": vocab, "sequence": sequence, "tied": True, "dropout": True}


def llama(layers, hidden, heads, key_heads, ffn, vocab=128256, sequence=8192):
    width = hidden // heads
    return {"layers": layers, "hidden": hidden, "heads": heads, "key_heads": key_heads, "query_width": width,
            "value_width": width, "ffn": ffn, "gated": True, "vocab": vocab, "sequence": sequence}


A100 = ("ampere", 312000000, 312000000, 2039000, 300000, 25000, 80000000000, 8)
H100 = ("hopper", 989400000, 1979000000, 3350000, 450000, 50000, 80000000000, 8)
GB200 = ("blackwell", 2500000000, 5000000000, 8000000, 900000, 50000, 186000000000, 64)
OLD = {"stack": "megatron-2021", "precision": "fp16", "attention": "fused-softmax", "fused_norms": True, "overlaps_data": False}
BRIDGE = {"precision": "fp8", "overlaps_tensor": True, "gradient_bytes": 2}

# Source, model, device, devices, layout, execution, measured seconds.
CASES = [
    ("GPT 145.6B (SC 21, table 1)", gpt(80, 12288, 96), A100, 1536,
     {"tensor": 8, "pipeline": 8, "chunks": 2, "microbatch_samples": 2, "samples": 2304, "zero": 0, "recompute": "full"}, OLD, 24.8),
    ("GPT 1T (SC 21, table 1)", gpt(128, 25600, 160), A100, 3072,
     {"tensor": 8, "pipeline": 64, "microbatch_samples": 1, "samples": 3072, "zero": 0, "recompute": "full"}, OLD, 102.6),
    ("GPT 530B (arXiv:2205.05198, table 5)", gpt(105, 20480, 128), A100, 280,
     {"tensor": 8, "pipeline": 35, "chunks": 3, "samples": 280, "zero": 0, "recompute": "selective", "sequence_parallel": True}, OLD, 37.8),
    ("LLaMA 65B (arXiv:2311.05610)", llama(80, 8192, 64, 64, 22016, 128000, 2048), A100, 128,
     {"tensor": 2, "pipeline": 4, "samples": 2048, "zero": 1, "sequence_parallel": True},
     {"stack": "other", "flash_version": 2, "overlaps_data": False}, 79.3),
    ("GPT 175B (Megatron-Bridge)", gpt(96, 12288, 96, 51200), H100, 128,
     {"tensor": 4, "pipeline": 8, "chunks": 6, "samples": 256, "zero": 1, "sequence_parallel": True}, BRIDGE, 5.72),
    ("Llama 3 8B, 8 H100 (Megatron-Bridge)", llama(32, 4096, 32, 8, 14336), H100, 8,
     {"tensor": 1, "samples": 128, "zero": 3, "recompute": "layers", "recomputed_layers": 5},
     {"stack": "fsdp", "precision": "fp8"}, 9.07),
    ("Llama 3 70B, 64 H100 (Megatron-Bridge)", llama(80, 8192, 64, 8, 28672), H100, 64,
     {"tensor": 4, "pipeline": 8, "chunks": 5, "samples": 256, "zero": 1, "sequence_parallel": True}, BRIDGE, 19.7),
    ("Llama 3 405B, 1024 H100 (Megatron-Bridge)", llama(126, 16384, 128, 8, 53248), H100, 1024,
     {"tensor": 8, "context": 2, "pipeline": 8, "chunks": 8, "samples": 1536, "zero": 1, "sequence_parallel": True}, BRIDGE, 37.5),
    ("Llama 3 405B, 8192 H100 (arXiv:2407.21783)", llama(126, 16384, 128, 8, 53248), H100, 8192,
     {"tensor": 8, "pipeline": 16, "chunks": 8, "samples": 2048, "zero": 1, "sequence_parallel": True}, {}, 12.0),
    ("Llama 3 405B, 256 GB200 (Megatron-Bridge)", llama(126, 16384, 128, 8, 53248), GB200, 256,
     {"tensor": 4, "pipeline": 16, "chunks": 4, "samples": 1536, "zero": 1, "sequence_parallel": True},
     {**BRIDGE, "precision": "mxfp8"}, 56.9),
    ("Nemotron 340B, 128 H100 (Megatron-Bridge)", {**llama(96, 18432, 96, 8, 73728, 256000, 4096), "gated": False}, H100, 128,
     {"tensor": 8, "pipeline": 8, "chunks": 12, "samples": 32, "zero": 1, "sequence_parallel": True}, BRIDGE, 3.14),
]


def predicted(rondo, folder, name, document):
    """Seconds of the document's run, of the best one, that one's layout, and whether the
    document's run is estimated to fit."""
    given, best = folder / f"{name}.json", folder / f"{name}-best.json"
    given.write_text(json.dumps(document))
    done = subprocess.run([rondo, "plan", "groups", given, "-o", best], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    # The first row after the heading and the names of the columns.
    time, unit = re.search(r"  ([0-9.]+) (s|ms) ", done.stdout.splitlines()[2]).groups()
    found = json.loads(best.read_text())
    seconds = float(time) * {"s": 1, "ms": 1e-3}[unit]
    return seconds, found["predicted_ns"] * 1e-9, found["layout"], "note: the run needs" not in done.stderr


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    slower = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, model, sheet, devices, layout, execution, measured) in enumerate(CASES):
            generation, bf16, fp8, memory, link, network, size, domain = sheet
            domain = min(domain, devices)
            shape = layout["tensor"] * layout.get("context", 1) * layout.get("pipeline", 1)
            document = {
                "format": "rondo-layout/1", "name": "case", "model": model, "execution": execution,
                "machines": {"device": generation, "generation": generation, "bf16_flops_per_us": bf16, "fp8_flops_per_us": fp8,
                             "memory_bytes_per_us": memory, "link_bytes_per_us": link, "network_bytes_per_us": network,
                             "memory_bytes": size, "domain": domain, "domains": devices // domain},
                "layout": {**layout, "data": devices // shape},
            }
            given, best, found, fits = predicted(sys.argv[1], pathlib.Path(scratch), str(number), document)
            slower += fits and best > given * 1.001
            words = " ".join(f"{key} {value}" for key, value in found.items() if key not in ("samples", "sequence_parallel"))
            memory = "" if fits else " (more memory than the devices have, as estimated)"
            print(f"{name}: measured {measured} s, predicted {given:.4g} s{memory}; best {best:.4g} s: {words}")
    sys.exit(slower > 0)


main()
