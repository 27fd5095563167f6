# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times formats and pictures of 64 ranks x 512 micro-batches.

    timelines.py RONDO

Needs Debian's chromium, chromium-driver and python3-selenium, so run it with
Debian's Python. Prints seconds of each export and import, the size of the page,
how long a browser takes to open it, and frames a second while it pans.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../test/driver/Inputs"))
import browse

RANKS, MICROBATCHES = 64, 512
RONDO = os.path.abspath(sys.argv[1])

PAN = """const done = arguments[0]; let frames = 0; const begin = performance.now();
zoom(0.5, 600);
function step() { pan(3, 0); if (++frames < 120) requestAnimationFrame(step); else done(120000 / (performance.now() - begin)); }
requestAnimationFrame(step);"""


def timed(*words):
    begin = time.monotonic()
    done = subprocess.run([RONDO, *words], capture_output=True, text=True, check=True)
    return time.monotonic() - begin, done.stdout


def main():
    os.chdir(tempfile.mkdtemp())
    stage = {"forward_ns": 1000, "input_grad_ns": 1000, "weight_grad_ns": 900, "activation_bytes": 2,
             "input_grad_frees_bytes": 1, "output_bytes": 1000}
    problem = {"format": "rondo-problem/1", "name": "big", "microbatches": MICROBATCHES,
               "ranks": [{"memory_bytes": None}] * RANKS, "stages": [{"rank": r, **stage} for r in range(RANKS)],
               "link": {"latency_ns": 100, "bytes_per_us": 10000}}
    with open("big.json", "w") as file:
        json.dump(problem, file)
    for family, name in (("zb-h1", "zb.json"), ("1f1b", "1f1b.json")):
        with open(name, "w") as file:
            file.write(timed("simulate", "big.json", "--family", family, "--json")[1])
    for kind in ("torch-csv", "torch-csv-comms", "torchtitan", "jaxpp", "rondo-schedule", "megatron"):
        schedule = "1f1b.json" if kind == "megatron" else "zb.json"
        seconds, _ = timed("export", kind, schedule, "--problem", "big.json", "-o", f"out.{kind}")
        print(f"export {kind}: {seconds:.2f} s")
    for kind in ("torch-csv", "torch-csv-comms", "rondo-schedule"):
        seconds, _ = timed("import", kind, f"out.{kind}", "-o", f"in.{kind}.json")
        print(f"import {kind}: {seconds:.2f} s")
    seconds, _ = timed("import", "torch-csv", "out.torch-csv", "-o", "in.mlir")
    print(f"import torch-csv as .mlir: {seconds:.2f} s")
    for ending in ("html", "svg", "json", "txt"):
        seconds, _ = timed("show", "big.json", "--schedules", "zb.json", "-o", f"shown.{ending}")
        print(f"show .{ending}: {seconds:.2f} s, {os.path.getsize(f'shown.{ending}') / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        driver = browse.open_browser(folder)
        try:
            begin = time.monotonic()
            driver.get("file://" + os.path.abspath("shown.html"))
            driver.execute_async_script(browse.FRAME)
            print(f"browser: open in {time.monotonic() - begin:.2f} s")
            print(f"browser: {driver.execute_async_script(PAN):.0f} frames a second while panning")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
