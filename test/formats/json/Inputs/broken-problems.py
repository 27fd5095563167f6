"""Runs `rondo simulate` on problems that are broken in one place each.

    broken-problems.py FOLDER

Prints each one's name and what rondo says; stops where rondo does not end with
status 1 and one line on standard error.
"""

import copy
import json
import os
import subprocess
import sys

STAGE = {"rank": 0, "forward_ns": 1, "input_grad_ns": 1, "weight_grad_ns": 1, "activation_bytes": 2,
         "input_grad_frees_bytes": 1, "output_bytes": 0}
SOUND = {"format": "rondo-problem/1", "name": "p", "microbatches": 2, "ranks": [{"memory_bytes": None}], "stages": [STAGE],
         "link": {"latency_ns": 0, "bytes_per_us": None}}
FREE = {"latency_ns": 0, "bytes_per_us": None}


def changed(**changes):
    """The sound problem with some members replaced; s_x changes x of its stage."""
    problem = copy.deepcopy(SOUND)
    for key, value in changes.items():
        if key.startswith("s_"):
            problem["stages"][0][key[2:]] = value
        else:
            problem[key] = value
    return json.dumps(problem)


TWO_RANKS = [{"memory_bytes": None}] * 2
BIG = 2**61
BROKEN = {
    "float": changed(s_forward_ns=1.0),
    "string": changed(s_forward_ns="1"),
    "negative": changed(s_forward_ns=-1),
    "unknown-rank": changed(s_rank=7),
    "no-ranks": changed(ranks=[]),
    "no-stages": changed(stages=[]),
    "frees": changed(s_input_grad_frees_bytes=3),
    "rate": changed(link={"latency_ns": 0, "bytes_per_us": 0}),
    "self-link": changed(links=[{"from": 0, "to": 0, **FREE}]),
    "link-twice": changed(ranks=TWO_RANKS, links=[{"from": 0, "to": 1, **FREE}] * 2),
    "objective": changed(objective="speed"),
    "no-microbatch": changed(microbatches=0),
    "many-microbatches": changed(microbatches=10**30),
    "absurd-microbatches": changed(microbatches=2 * 10**9),
    "absurd-size": changed(microbatches=16 * 10**6, stages=[STAGE] * 40),
    "time-overflow": changed(s_forward_ns=BIG),
    "memory-overflow": changed(s_activation_bytes=BIG),
    "message-overflow": changed(ranks=TWO_RANKS, stages=[{**STAGE, "output_bytes": 2**60}, {**STAGE, "rank": 1}]),
    "deep": changed(link=0).replace("0}", "[" * 100000),
    "control": changed(name="p").replace('"p"', '"\n"'),
    "not-utf8": changed(name="\udcff"),
    "list": "[]",
}


def main():
    path = os.path.join(sys.argv[1], "broken.json")
    for name, text in BROKEN.items():
        # 0xff stands in JSON as itself, not as an escape.
        with open(path, "wb") as file:
            file.write(text.replace("\\udcff", "\udcff").encode("utf-8", "surrogateescape"))
        done = subprocess.run(["rondo", "simulate", path], capture_output=True, text=True, check=False)
        if done.returncode != 1 or done.stdout or done.stderr.count("\n") != 1:
            sys.exit(f"{name}: ended with {done.returncode}: {done.stdout}{done.stderr}")
        print(f"{name}: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
