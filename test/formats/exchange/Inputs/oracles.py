# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports files of PyTorch's schedules, whose names say whether they are sound.

    oracles.py FOLDER SCRATCH

Files named torch-* and rondo-* are sound and must come back with the same
cells; odd-* are read; bad-* are refused with a place. Some need to be told what
their run expects.
"""

import pathlib
import re
import subprocess
import sys

FOLDER, SCRATCH = map(pathlib.Path, sys.argv[1:])

# torch's dump of 1F1B has reductions among tasks, and a last rank off by one.
UNSOUND = {"torch-1f1b-p4m8.csv"}
# Alone it is a pipeline of one stage; the run has two ranks.
NEEDS_RANKS = {"bad-missing-rank.csv": "rondo-1f1b-p2m4.csv"}
OPTIONS = {"bad-no-reduce-scale.comms.csv": ["--scale-grads"]}


def rondo(*words):
    return subprocess.run(["rondo", *words], capture_output=True, text=True, check=False)


def cells(path):
    return [[c for c in line.split(",") if c.strip()] for line in path.read_text().splitlines()]


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    same = refused = wrong = 0
    for path in sorted(FOLDER.glob("*.csv")):
        kind = "torch-csv-comms" if path.name.endswith(".comms.csv") else "torch-csv"
        schedule, back = SCRATCH / f"{path.name}.json", SCRATCH / path.name
        options = list(OPTIONS.get(path.name, []))
        if path.name in NEEDS_RANKS:
            problem = SCRATCH / "expected.json"
            rondo("import", "torch-csv", FOLDER / NEEDS_RANKS[path.name],
                  "--problem-output", problem, "-o", SCRATCH / "expected.schedule.json")
            options += ["--problem", problem]
        done = rondo("import", kind, path, "-o", schedule, *options)
        is_bad = path.name.startswith("bad-") or path.name in UNSOUND
        has_place = re.search(r"row \d+|stage \d+|\d+ ranks?\b", done.stderr)
        if is_bad:
            refused += done.returncode == 1
            if done.returncode != 1 or not has_place or schedule.exists():
                wrong += 1
                print(f"{path.name}: {done.returncode} {done.stderr}")
            continue
        if done.returncode != 0:
            wrong += 1
            print(f"{path.name}: {done.returncode} {done.stderr}")
        elif not path.name.startswith("odd-"):
            rondo("export", kind, schedule, "-o", back)
            same += cells(back) == cells(path)
    print(f"read and written again, the same: {same}")
    print(f"refused: {refused}")
    print(f"wrong: {wrong}")


if __name__ == "__main__":
    main()
