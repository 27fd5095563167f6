# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems of the papers, and calls of rondo on them."""

import json
import pathlib
import subprocess
import tempfile


def problem(name, ranks, microbatches, placement, times, cap=None, output_bytes=0, latency_ns=0):
    """A rondo-problem/1 object: stage s on rank placement[s], each with `times` of F, I and W and one byte per micro-batch."""
    forward, input_grad, weight_grad = times
    stage = {"forward_ns": forward, "input_grad_ns": input_grad, "weight_grad_ns": weight_grad,
             "activation_bytes": 1, "input_grad_frees_bytes": 0, "output_bytes": output_bytes}
    return {
        "format": "rondo-problem/1",
        "name": name,
        "microbatches": microbatches,
        "ranks": [{"memory_bytes": cap[r] if isinstance(cap, list) else cap} for r in range(ranks)],
        "stages": [{"rank": r, **stage} for r in placement],
        "link": {"latency_ns": latency_ns, "bytes_per_us": 1000},
    }


def run(rondo, *arguments, **files):
    """The lines that `rondo ARGUMENTS` prints. An argument `@x` is a file of the objects in files["x"]."""
    with tempfile.TemporaryDirectory() as folder:
        for name, objects in files.items():
            text = "".join(json.dumps(o) + "\n" for o in objects)
            pathlib.Path(folder, name + ".jsonl").write_text(text)
        command = [f"{folder}/{a[1:]}.jsonl" if a.startswith("@") else a for a in arguments]
        # Status 1 or 3: one of several schedules is not legal, or one of
        # several problems has none.
        done = subprocess.run([rondo, *command], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3) or not done.stdout:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        return done.stdout.splitlines()


def simulate(rondo, problems, family):
    """One rondo-schedule/1 object per problem."""
    lines = run(rondo, "simulate", "@problems", "--family", family, "--json", problems=problems)
    return [json.loads(line) for line in lines]


def search(rondo, problems, effort):
    """The same, searched with this effort, whatever the time."""
    lines = run(rondo, "search", "--problems", "@problems", "--effort", str(effort),
                "--time-limit-ms", "0", problems=problems)
    return [json.loads(line) for line in lines]


def row(*cells):
    print("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, [9] + [8] * len(cells))))
