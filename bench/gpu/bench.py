#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of bench/gpu and PyTorch's model, and prints one table.

    bench.py BUILD [--models 124m,350m] [--warm-up N] [--measure N] [--rounds N]
                   [--seconds N]

Each row is the median over all measured iterations of its rounds; the rounds of
all rows alternate, so that a change of clocks affects all of them. All train on
tokens drawn uniformly from the vocabulary. Each run is reported when it has ended
or has taken too long; no round starts that would not end within --seconds.
MFU counts 6 * parameters + 12 * layers * hidden * sequence operations per token
(PaLM, appendix B) over the dense peak of the device in bf16; `-` if the peak is
unknown. Host: processor time to enqueue or launch an iteration, relative to the
iteration. PyTorch: see pytorch_gpt.py; compiled, also with the attention of
cuDNN, which it has but does not choose itself, and with kernels that give the
same bits each time, as Rondo's do. Status 1 if a run failed.
"""

import argparse
import array
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

# name: layers, hidden, heads; vocabulary 50257, sequence 1024, 8 micro-batches
# of 8 samples, as in the .mlir files in this folder.
MODELS = {"124m": (12, 768, 12), "350m": (24, 1024, 16)}
VOCAB, SEQUENCE, BATCH, MICROBATCHES = 50257, 1024, 8, 8

# Dense bf16 peaks in operations per second, from NVIDIA's data sheets.
PEAKS = {
    "A100": 312e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "H200": 989e12,
    "GH200": 989e12,
    "B100": 1750e12,
    "B200": 2250e12,
}


# No run takes longer; PyTorch's first one compiles.
MOST_SECONDS, MOST_SECONDS_OF_PYTORCH = 100, 240


def parameters(model):
    layers, hidden, _ = MODELS[model]
    block = 12 * hidden * hidden + 13 * hidden
    return (VOCAB + SEQUENCE) * hidden + layers * block + 2 * hidden


def flops_per_token(model):
    layers, hidden, _ = MODELS[model]
    return 6 * parameters(model) + 12 * layers * hidden * SEQUENCE


def device_name():
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.decode().splitlines()[0].strip()


def peak_of(name):
    known = [key for key in PEAKS if key in name]
    return PEAKS[max(known, key=len)] if known else None


def write_tokens(path):
    """In llm.c's format, drawn as pytorch_gpt.py draws its own."""
    count = 1 << 20
    header = array.array("i", [20240520, 1, count] + [0] * 253)
    tokens = array.array("H", random.Random(1).choices(range(VOCAB), k=count))
    with open(path, "wb") as file:
        header.tofile(file)
        tokens.tofile(file)


def run_rondo(build, model, schedule, graph, options):
    """Times of the measured iterations, and the host's part of them, s."""
    program = build / "bin" / f"gpt2-{model}-{schedule}"
    log = build / "bench.json"
    log.unlink(missing_ok=True)
    subprocess.run(
        [program, "--data", build / "bench-tokens.bin", "--held-out", "0",
         "--quiet", "--iterations", str(options.warm_up + options.measure),
         "--json-log", log, "--graph", graph],
        check=True, stdout=subprocess.DEVNULL, env=environment(),
        timeout=MOST_SECONDS)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    entries = [e for e in entries if "ns" in e][options.warm_up:]
    return ([e["ns"] / 1e9 for e in entries],
            [e["enqueue_ns"] / 1e9 for e in entries])


def run_pytorch(model, flags, options):
    """Times of the measured iterations, s, and PyTorch's version."""
    layers, hidden, heads = MODELS[model]
    done = subprocess.run(
        [sys.executable, HERE / "pytorch_gpt.py", "--layers", str(layers),
         "--hidden", str(hidden), "--heads", str(heads),
         "--sequence", str(SEQUENCE), "--batch", str(BATCH),
         "--microbatches", str(MICROBATCHES), "--warm-up", str(options.warm_up),
         "--measure", str(options.measure), *flags],
        check=True, stdout=subprocess.PIPE, env=environment(),
        timeout=MOST_SECONDS_OF_PYTORCH)
    answer = json.loads(done.stdout.decode().splitlines()[-1])
    return answer["seconds"], answer["version"]


def environment():
    """One GPU."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": first_device()}


def first_device():
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]


def has_pytorch():
    command = [sys.executable, "-c",
               "import torch; assert torch.cuda.is_available()"]
    return subprocess.run(command, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default="124m,350m")
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--measure", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=420)
    options = parser.parse_args()

    device = device_name()
    peak = peak_of(device)
    write_tokens(options.build / "bench-tokens.bin")
    runs = []
    for model in options.models.split(","):
        for schedule in ("one_stage", "four_stages"):
            for graph in ("on", "off"):
                runs.append((model, f"{schedule}, graph {graph}",
                             lambda model=model, schedule=schedule, graph=graph:
                             run_rondo(options.build, model, schedule, graph,
                                       options)))
    versions = set()
    if has_pytorch():
        def pytorch(model, flags):
            times, version = run_pytorch(model, flags, options)
            versions.add(version)
            return times, []
        for model in options.models.split(","):
            for program, flags in (("PyTorch", []),
                                   ("PyTorch, cuDNN",
                                    ["--attention", "cudnn"]),
                                   ("PyTorch, deterministic",
                                    ["--deterministic"])):
                runs.append((model, program, lambda model=model, flags=flags:
                             pytorch(model, flags)))

    rows = {(model, program): ([], []) for model, program, _ in runs}
    failed = set()
    start = time.monotonic()
    rounds = 0
    for r in range(options.rounds):
        begin = time.monotonic()
        # The first round also compiles.
        if r > 0 and begin - start + (begin - start) / r > options.seconds:
            print(f"{r} rounds of {options.rounds}: the next one would not end "
                  f"within {options.seconds:.0f} s", flush=True)
            break
        for model, program, run in runs:
            if (model, program) in failed:
                continue
            try:
                times, hosts = run()
                if not times:
                    raise ValueError("it logged no iteration")
            except (OSError, ValueError, KeyError, IndexError,
                    subprocess.SubprocessError) as error:
                failed.add((model, program))
                print(f"FAILED {model} {program}: {error}", flush=True)
                continue
            rows[model, program][0].extend(times)
            rows[model, program][1].extend(hosts)
            print(f"round {r + 1}: {model} {program}: "
                  f"{1e3 * statistics.median(times):.2f} ms", flush=True)
        rounds = r + 1

    print(f"{device}; bf16, sequence {SEQUENCE}, {MICROBATCHES} micro-batches of "
          f"{BATCH} samples; {options.warm_up} iterations of warm-up, median "
          f"of {rounds} x {options.measure}; "
          + (f"PyTorch {', '.join(sorted(versions))}" if versions
             else "no PyTorch here"))
    print(f"{'model':6} {'program':24} {'ms':>9} {'tokens/s':>10} {'MFU':>7} "
          f"{'host':>8}")
    tokens = SEQUENCE * BATCH * MICROBATCHES
    for (model, program), (times, hosts) in rows.items():
        if not times:
            continue
        seconds = statistics.median(times)
        rate = tokens / seconds
        mfu = f"{100 * rate * flops_per_token(model) / peak:.1f} %" if peak else "-"
        host = (f"{100 * statistics.median(hosts) / seconds:.2f} %" if hosts
                else "-")
        print(f"{model:6} {program:24} {1e3 * seconds:9.2f} {rate:10.0f} "
              f"{mfu:>7} {host:>8}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
