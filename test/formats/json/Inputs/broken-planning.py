# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `rondo plan` on planning problems with one fault each.

    broken-planning.py FOLDER

Prints each one's name and rondo's message; stops if rondo does not end with
status 1 and one line on standard error.
"""

import copy
import json
import os
import subprocess
import sys

SOUND = {
    "format": "rondo-planning/1",
    "name": "good",
    "microbatches": 2,
    "layers": [{"name": "a", "forward_ns": 1, "backward_ns": 2, "output_bytes": 0, "stash_bytes": 0,
                "parameter_bytes": 0}],
    "devices": {"node": [0, 0], "memory_bytes": 0},
    "bytes_per_us": [[0, 8], [8, 0]],
    "latency_ns": {"intra": 0, "inter": 0},
    "state_multiplier": 4,
}
ABSENT = object()


def changed(layer=(), devices=(), **problem):
    """The sound problem with members of its layer, of its devices and of itself replaced, or left out if ABSENT."""
    result = copy.deepcopy(SOUND)
    for members, values in ((result["layers"][0], layer), (result["devices"], devices), (result, problem)):
        members.update(values)
        for key in [key for key, value in members.items() if value is ABSENT]:
            del members[key]
    return json.dumps(result)


BIG = 2**60
BROKEN = {
    "format": changed(format="rondo-planning/9"),
    "microbatches": changed(microbatches=0),
    "missing": changed(microbatches=ABSENT),
    "unknown": changed(layer={"stash_bytes": ABSENT, "stashed": 0}),
    "negative": changed(layer={"forward_ns": -1}),
    "not-whole": changed(layer={"forward_ns": 1.5}),
    "part-of-backward": changed(layer={"backward_ns": ABSENT, "input_grad_ns": 2}),
    "backward-and-part": changed(layer={"input_grad_ns": 2}),
    "last-output": changed(layer={"output_bytes": 5}),
    "one-device": changed(devices={"node": [0]}),
    "three-devices": changed(devices={"node": [0, 0, 0]}),
    "no-device": changed(devices={"node": []}),
    "nic-list": changed(devices={"nic": 1}),
    "nic-count": changed(devices={"nic": [0]}),
    "nic-number": changed(devices={"nic": [0, -1]}),
    "nic-server": changed(devices={"node": [0, 5], "nic": [1, 1]}),
    "speed": changed(devices={"speed_percent": [100, 0]}),
    "speed-list": changed(devices={"speed_percent": 5}),
    "memory-count": changed(devices={"memory_bytes": [10]}),
    "memory-zero": changed(devices={"memory_bytes": [10, 0]}),
    "rate": changed(bytes_per_us=[[0, 0], [8, 0]]),
    "long": changed(layer={"forward_ns": BIG}),
    "large": changed(layer={"stash_bytes": BIG}),
    "syntax": "{" + changed(),
}


def main():
    path = os.path.join(sys.argv[1], "broken.json")
    for name, text in BROKEN.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["rondo", "plan", "--problems", path], capture_output=True, text=True, check=False)
        if done.returncode != 1 or done.stdout or done.stderr.count("\n") != 1:
            sys.exit(f"{name}: ended with {done.returncode}: {done.stdout}{done.stderr}")
        print(f"{name}: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
