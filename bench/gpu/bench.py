#!/usr/bin/env python3
"""Runs the programs of bench/gpu and PyTorch's model, and prints one table.

    bench.py BUILD [--models 124m,350m] [--warm-up N] [--measure N] [--rounds N]

Each row is the median over all measured iterations of its rounds; the rounds of
all rows alternate, so that a change of clocks meets all of them. MFU counts
6 * parameters + 12 * layers * hidden * sequence operations a token (PaLM,
appendix B) over the dense peak of the device in bf16; `-` where the peak is not
known. CPU ms: processor time of the process in an iteration, by a long run less a
short one; it bounds the host's work from above, since it includes the looks
whether the GPU is done. PyTorch: see pytorch_gpt.py.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# name: layers, hidden, heads; vocabulary 50257, sequence 1024, 8 micro-batches
# of 8 samples, as in the .mlir files beside this one.
MODELS = {"124m": (12, 768, 12), "350m": (24, 1024, 16)}
VOCAB, SEQUENCE, BATCH, MICROBATCHES = 50257, 1024, 8, 8

# Dense bf16 peaks in operations a second, from NVIDIA's data sheets.
PEAKS = {
    "A100": 312e12,
    "H100 PCIe": 756e12,
    "H100": 989e12,
    "H200": 989e12,
    "GH200": 989e12,
    "B100": 1750e12,
    "B200": 2250e12,
}


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


def processor_seconds():
    """Of all children so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_rondo(build, model, schedule, graph, iterations):
    """Times of the iterations and processor time of the run, s."""
    program = build / "bin" / f"gpt2-{model}-{schedule}"
    log = build / "bench.json"
    log.unlink(missing_ok=True)
    before = processor_seconds()
    subprocess.run(
        [program, "--data", build / "bench-text", "--held-out", "0", "--quiet",
         "--iterations", str(iterations), "--json-log", log, "--graph", graph],
        check=True, stdout=subprocess.DEVNULL,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": first_device()})
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    times = [e["ns"] / 1e9 for e in entries if "ns" in e]
    return times, processor_seconds() - before


def run_pytorch(model, options):
    layers, hidden, heads = MODELS[model]
    done = subprocess.run(
        [sys.executable, HERE / "pytorch_gpt.py", "--layers", str(layers),
         "--hidden", str(hidden), "--heads", str(heads),
         "--sequence", str(SEQUENCE), "--batch", str(BATCH),
         "--microbatches", str(MICROBATCHES), "--warm-up", str(options.warm_up),
         "--measure", str(options.measure)],
        check=True, stdout=subprocess.PIPE,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": first_device()})
    answer = json.loads(done.stdout.decode().splitlines()[-1])
    return answer["seconds"], answer["version"]


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
    parser.add_argument("--warm-up", type=int, default=10)
    parser.add_argument("--measure", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    name = device_name()
    peak = peak_of(name)
    torch_version = None
    with_torch = has_pytorch()
    rows = {}
    for model in options.models.split(","):
        for _ in range(options.rounds):
            for schedule in ("one_stage", "four_stages"):
                for graph in ("on", "off"):
                    row = rows.setdefault(
                        (model, f"{schedule}, graph {graph}"), ([], []))
                    _, short = run_rondo(options.build, model, schedule, graph,
                                         options.warm_up)
                    times, long = run_rondo(
                        options.build, model, schedule, graph,
                        options.warm_up + options.measure)
                    row[0].extend(times[options.warm_up:])
                    row[1].append((long - short) / options.measure)
            if with_torch:
                times, torch_version = run_pytorch(model, options)
                rows.setdefault((model, "PyTorch, compiled"),
                                ([], []))[0].extend(times)

    print(f"{name}; bf16, sequence {SEQUENCE}, {MICROBATCHES} micro-batches of "
          f"{BATCH} samples; {options.warm_up} iterations of warm-up, median "
          f"of {options.rounds} x {options.measure}; "
          + (f"PyTorch {torch_version}" if with_torch else "no PyTorch here"))
    print(f"{'model':6} {'program':24} {'ms':>9} {'tokens/s':>10} {'MFU':>7} "
          f"{'CPU ms':>8}")
    tokens = SEQUENCE * BATCH * MICROBATCHES
    for (model, program), (times, processor) in rows.items():
        seconds = statistics.median(times)
        rate = tokens / seconds
        mfu = f"{100 * rate * flops_per_token(model) / peak:.1f} %" if peak else "-"
        busy = f"{1e3 * statistics.median(processor):.2f}" if processor else "-"
        print(f"{model:6} {program:24} {1e3 * seconds:9.2f} {rate:10.0f} "
              f"{mfu:>7} {busy:>8}")


if __name__ == "__main__":
    main()
