# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `rondo simulate` on problems with one fault each.

    broken-problems.py FOLDER [2]

Prints each one's name and rondo's message; stops if rondo does not end with
status 1 and one line on standard error. With `2` they are of version 2.
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


def cost(ns, **more):
    return {"ns": ns, **more}


def stage2(**changes):
    return {
        "replicas": [{"rank": 0}],
        "costs": {"F": cost(1, takes_bytes=2), "I": cost(1, frees_bytes=1), "W": cost(1, frees_bytes=1)},
        **changes,
    }


def changed2(costs=None, **changes):
    """A sound problem of version 2 with some members replaced; s_x changes x of its first stage, `costs` its costs."""
    problem = {"format": "rondo-problem/2", "name": "p", "microbatches": 2, "ranks": [{}],
               "stages": [stage2(), stage2()], "edges": [{"from": 0, "to": 1, "bytes": 1}]}
    problem["stages"][0]["costs"].update(costs or {})
    for key, value in changes.items():
        if key.startswith("s_"):
            problem["stages"][0][key[2:]] = value
        elif value is None:
            del problem[key]
        else:
            problem[key] = value
    return json.dumps(problem)


def link2(**more):
    return {"latency_ns": 0, "bytes_per_us": None, **more}


EDGE = {"from": 0, "to": 1, "bytes": 1}
BROKEN2 = {
    "replicas": changed2(samples=2, s_replicas=[{"rank": 0}, {"rank": 0}]),
    "uneven": changed2(samples=3, s_replicas=[{"rank": 0}, {"rank": 0}]),
    "no-replica": changed2(s_replicas=[]),
    "share": changed2(s_replicas=[{"rank": 0, "samples": 2}]),
    "replica-costs": changed2(s_replicas=[{"rank": 0, "costs": {}}]),
    "samples": changed2(samples=0),
    "iterations": changed2(iterations=0),
    "half-samples": changed2(samples=0.5),
    "nics": changed2(nics=3),
    "NIC-key": changed2(nics=[{"ranks": [0]}]),
    "NIC-rate": changed2(nics=[{"ranks": [0], "bytes_per_us": 0}]),
    "NIC-duplex": changed2(nics=[{"ranks": [0], "bytes_per_us": 1, "duplex": "half"}]),
    "NIC-server": changed2(nics=[{"ranks": [0], "bytes_per_us": 1, "server": -1}]),
    "NIC-ranks": changed2(nics=[{"ranks": 0, "bytes_per_us": 1}]),
    "NIC-no-ranks": changed2(nics=[{"ranks": [], "bytes_per_us": 1}]),
    "NIC-far-rank": changed2(nics=[{"ranks": [1], "bytes_per_us": 1}]),
    "two-nics": changed2(nics=[{"ranks": [0], "bytes_per_us": 1}, {"ranks": [0], "bytes_per_us": 1}]),
    "host": changed2(host={"action_ns": -1}),
    "host-key": changed2(host={"task_ns": 1}),
    "rank-host": changed2(ranks=[{"host": {"wait_ns": "much"}}]),
    "speed": changed2(ranks=[{"speed_percent": 50}]),
    "half-duplex": changed2(link=link2(duplex="half")),
    "duplex": changed2(link=link2(duplex="none")),
    "resident": changed2(channels={"resident": 2}),
    "protocol": changed2(channels={"protocol": "slow"}),
    "receive-slots": changed2(channels={"receive_slots": 0}),
    "queues": changed2(channels={"queues": 1}),
    "shard": changed2(s_shard={"what": "weights", "group": 2}),
    "shard-what": changed2(s_shard={"what": "all"}),
    "shard-group": changed2(s_shard={"what": "weights", "group": 1}),
    "versions": changed2(s_versions={"forward": "newest"}),
    "policy": changed2(s_versions="gpipe"),
    "most-delay": changed2(s_versions={"most_delay": -1}),
    "stashed-activations": changed2(s_versions={"backward": "live", "activations": "stashed"}),
    "parameter-bytes": changed2(s_parameter_bytes=-1),
    "buckets": changed2(s_buckets=2),
    "gather": changed2(costs={"UNSHARD": cost(1)}),
    "step-takes": changed2(costs={"STEP": cost(1, takes_bytes=3)}),
    "step-frees": changed2(costs={"STEP": cost(1, frees_bytes=3)}),
    "kind": changed2(costs={"G": cost(1)}),
    "no-weight-grad": changed2(s_costs={"F": cost(1), "I": cost(1)}),
    "lane": changed2(costs={"F": cost(1, lane="copy")}),
    "unknown-lane": changed2(costs={"F": cost(1, lane="fast")}),
    "by-index": changed2(costs={"F": cost(1, ns_by_index=[1, 2])}),
    "leak": changed2(costs={"F": cost(1, takes_bytes=3)}),
    "fused-leak": changed2(costs={"B": cost(1, frees_bytes=1)}),
    "weight-takes": changed2(costs={"W": cost(1, takes_bytes=1)}),
    "cap": changed2(ranks=[{"memory_bytes": 50, "device": {"memory_bytes": 100, "state_bytes": 10}}]),
    "no-edges": changed2(edges=None),
    "back-edge": changed2(edges=[{"from": 1, "to": 0, "bytes": 1}]),
    "edge-twice": changed2(edges=[EDGE, EDGE]),
    "far-edge": changed2(edges=[{"from": 0, "to": 2, "bytes": 1}]),
    "no-gradient": changed2(edges=[{**EDGE, "gradient_bytes": None}]),
}


def main():
    path = os.path.join(sys.argv[1], "broken.json")
    for name, text in (BROKEN2 if sys.argv[2:] == ["2"] else BROKEN).items():
        # 0xff is in the JSON as itself, not as an escape.
        with open(path, "wb") as file:
            file.write(text.replace("\\udcff", "\udcff").encode("utf-8", "surrogateescape"))
        done = subprocess.run(["rondo", "simulate", path], capture_output=True, text=True, check=False)
        if done.returncode != 1 or done.stdout or done.stderr.count("\n") != 1:
            sys.exit(f"{name}: ended with {done.returncode}: {done.stdout}{done.stderr}")
        print(f"{name}: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
