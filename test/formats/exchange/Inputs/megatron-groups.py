# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads layouts for numbers of ranks, stages, micro-batches and groups.

    megatron-groups.py SCRATCH

`rondo import megatron-layout` must take exactly what Megatron-LM's interleaved
schedule takes, and `rondo export megatron` must print the group that was given.
"""

import itertools
import pathlib
import re
import subprocess
import sys

SCRATCH = pathlib.Path(sys.argv[1])


def rondo(*words):
    return subprocess.run(["rondo", *map(str, words)], capture_output=True, text=True, check=False)


def is_taken(ranks, chunks, microbatches, group):
    """Of 2 chunks and more: megatron-core 0.19.2, forward_backward_pipelining_with_interleaving."""
    if chunks == 1:
        return group is None
    size = group or ranks
    last = microbatches % size
    return ranks > 1 and ranks <= size <= microbatches and (last == 0 or last >= ranks)


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    layout, schedule = SCRATCH / "layout.txt", SCRATCH / "schedule.json"
    taken = refused = wrong = 0
    for ranks, chunks, microbatches in itertools.product((1, 2, 3, 4), (1, 2, 3), (1, 2, 4, 5, 6, 7, 9)):
        layout.write_text("E" + "|".join("t" * (ranks * chunks)) + "L\n")
        for group in None, 2, 3, 5, microbatches:
            options = [] if group is None else ["--group", group]
            options += ["--ranks", ranks, "--microbatches", microbatches, "-o", schedule]
            done = rondo("import", "megatron-layout", layout, *options)
            case = f"{ranks} ranks, {chunks} chunks, {microbatches} micro-batches, group {group}"
            if (done.returncode == 0) != is_taken(ranks, chunks, microbatches, group):
                wrong += 1
                print(f"{case}: {done.returncode} {done.stderr}")
            if done.returncode:
                refused += 1
                continue
            taken += 1
            flags = rondo("export", "megatron", schedule).stdout
            found = re.search(r"--microbatch-group-size-per-virtual-pipeline-stage (\d+)", flags)
            expected = None if chunks == 1 else str(group or ranks)
            if "--pipeline-model-parallel-size" not in flags or (found and found[1]) != expected:
                wrong += 1
                print(f"{case}: {flags}")
    print(f"{taken} taken, {refused} refused, wrong: {wrong}")


if __name__ == "__main__":
    main()
