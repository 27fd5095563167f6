# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports every family with messages and reads it back under one queue a rank.

    family-queues.py SCRATCH

The families are those that the help of `rondo simulate` lists. Prints those that
no shape has shown.
"""

import json
import pathlib
import re
import subprocess
import sys

SCRATCH = pathlib.Path(sys.argv[1])
# The rank of each stage, keyed by a name.
SHAPES = {
    "linear-2": [0, 1],
    "linear-3": [0, 1, 2],
    "linear-4": [0, 1, 2, 3],
    "loop-2": [0, 1, 0, 1],
    "loop-3": [0, 1, 2, 0, 1, 2],
    "loop-2x3": [0, 1, 0, 1, 0, 1],
    "v-2": [0, 1, 1, 0],
    "v-3": [0, 1, 2, 2, 1, 0],
    "v-4": [0, 1, 2, 3, 3, 2, 1, 0],
    "wave-2": [0, 1, 1, 0, 0, 1, 1, 0],
    "uneven": [0, 1, 0, 0, 1],
}
MICROBATCHES = 4, 12


def rondo(*words):
    return subprocess.run(["rondo", *map(str, words)], capture_output=True, text=True, check=False)


def problem(name, ranks, microbatches):
    stage = {"forward_ns": 3, "input_grad_ns": 4, "weight_grad_ns": 2}
    stage |= {"activation_bytes": 2, "input_grad_frees_bytes": 1}
    last = len(ranks) - 1
    return {
        "format": "rondo-problem/1",
        "name": f"{name}-{microbatches}",
        "microbatches": microbatches,
        "ranks": [{"memory_bytes": None}] * (max(ranks) + 1),
        "stages": [{"rank": rank, **stage, "output_bytes": 0 if s == last else 100} for s, rank in enumerate(ranks)],
        "link": {"latency_ns": 1, "bytes_per_us": 100000},
    }


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    problems, schedules = SCRATCH / "problems.jsonl", SCRATCH / "schedules.jsonl"
    made = [problem(name, ranks, m) for name, ranks in SHAPES.items() for m in MICROBATCHES]
    problems.write_text("".join(json.dumps(each) + "\n" for each in made))
    lines = [line for line in rondo("simulate", problems, "--json").stdout.splitlines() if '"ranks"' in line]
    searched = rondo("search", problems, "--effort", 200).stdout.splitlines()
    lines += [line for line in searched if '"ranks"' in line]
    schedules.write_text("\n".join(lines) + "\n")
    shown, wrong = {}, 0
    for number, line in enumerate(lines, 1):
        name = json.loads(line).get("family", "searched")
        out = SCRATCH / "out.csv"
        done = rondo("export", "torch-csv-comms", schedules, "--problem", problems, "--line", number, "-o", out)
        if done.returncode == 0:
            done = rondo("import", "torch-csv-comms", out, "--queues", "rank")
        if done.returncode:
            wrong += 1
            print(f"{name} of {json.loads(line)['problem']}: {done.stderr}")
        shown[re.split("[:(]", name)[0]] = shown.get(re.split("[:(]", name)[0], 0) + 1
    listed = rondo("simulate", "--help").stdout.partition("\nfamilies")[2].partition("\n\n")[0]
    known = set(re.findall(r"^  ([a-z0-9][a-z0-9-]*)", listed, re.M))
    print(f"{len(lines)} schedules of {len(shown)} families, wrong: {wrong}")
    print(f"not shown: {', '.join(sorted(known - shown.keys())) or 'none'}")


if __name__ == "__main__":
    main()
