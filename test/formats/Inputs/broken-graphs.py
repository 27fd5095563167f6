# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks one thing in a sound profile and prints what import says of it.

    broken-graphs.py SOUND SCRATCH

A line is `name: status message`; the place of the file is left out.
"""

import pathlib
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])

# (name, text, its replacement)
CASES = [
    ("empty", None, "\n\n"),
    ("parts", "node7 -- Add -- ", "node7 -- "),
    ("edge-at-margin", "\tnode1 -- node2", "node1 -- node2"),
    ("no-name", "node7 -- Add", "\f -- Add"),
    ("key", "backward_compute_time=0.200", "backward_time=0.200"),
    ("no-value", "backward_compute_time=0.200", "backward_compute_time"),
    ("twice", "backward_compute_time=0.200", "forward_compute_time=0.200"),
    ("missing", ", parameter_size=1088.000", ""),
    ("number", "parameter_size=1088.000", "parameter_size=many"),
    ("negative", "forward_compute_time=0.100", "forward_compute_time=-0.100"),
    ("not-finite", "forward_compute_time=0.100", "forward_compute_time=nan"),
    ("absurd", "forward_compute_time=0.100", "forward_compute_time=1e12"),
    ("list", "[8192.0; 512.0]", "[8192.0; 512.0"),
    ("item", "[8192.0; 512.0]", "[8192.0; ]"),
    ("stage-alone", "node7 -- Add -- forward_compute_time=0.100, backward_compute_time=0.200, activation_size=8192.000, parameter_size=0.000", "node7 -- Add -- stage_id=0"),
    ("same-name", "node7 -- Add", "node6 -- Add"),
    ("unknown", "\tnode1 -- node2", "\tnode1 -- node12"),
    ("edge", "\tnode1 -- node2", "\tnode1 to node2"),
    ("cycle", "\tnode2 -- node3", "\tnode6 -- node3"),
    ("itself", "\tnode6 -- node7", "\tnode7 -- node7"),
    ("longer-cycle", "\tnode1 -- node2", "\tnode11 -- node2"),
]


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, old, new in CASES:
        text = (SOUND / "graph.txt").read_text()
        if old is None:
            text = new
        elif old not in text:
            sys.exit(f"{name}: the profile has no {old!r}")
        else:
            text = text.replace(old, new, 1)
        path = SCRATCH / f"{name}.txt"
        path.write_text(text)
        output = SCRATCH / f"{name}.mlir"
        done = subprocess.run(
            ["rondo", "import", "profile", path, "-o", output],
            capture_output=True, text=True, check=False,
        )
        message = done.stderr.strip().removeprefix(f"rondo: error: {path}: ").removeprefix(f"{path}:")
        print(f"{name}: {done.returncode} {message}")
        if output.exists():
            sys.exit(f"{name}: {output} was written")


main()
