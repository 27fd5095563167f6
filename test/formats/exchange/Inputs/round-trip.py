# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends plans through JSON and back to the language.

    round-trip.py SCRATCH

Each plan has one of the features that plans can have. What comes back must be
legal, have the problem and the orders of the first file, and their times.
"""

import json
import pathlib
import subprocess
import sys

SCRATCH = pathlib.Path(sys.argv[1])
LAYERS = ["wte", *(f"h{i}" for i in range(6)), "head"]
LAST = {"wte": "embedding", "head": "head"}

# Keyed by name: stages as (layers, words after them), the family, the words of the cluster.
TWO = [LAYERS[:4], LAYERS[4:]]
FOUR = [LAYERS[:2], LAYERS[2:4], LAYERS[4:6], LAYERS[6:]]
PLANS = {
    "plain": (TWO, ["on 0", "on 1"], "1f1b"),
    "replicas": (TWO, ["on [0, 1]", "on [2, 3]"], "1f1b"),
    "round_robin": (TWO, ["on [0, 1] round_robin", "on [2, 3] round_robin"], "1f1b"),
    "shares": (TWO, ["on [0: 3, 1: 1]", "on [2: 1, 3: 3]"], "1f1b"),
    "weights": (TWO, ["on [0, 1] sharded<weights>", "on [2, 3] sharded<weights>"], "1f1b"),
    "gradients": (TWO, ["on [0, 1] sharded<gradients>", "on [2, 3] sharded<gradients>"], "1f1b"),
    "optimizer": (TWO, ["on [0, 1] sharded<optimizer>", "on [2, 3] sharded<optimizer>"], "1f1b"),
    "shards": (
        TWO,
        ["on [0, 1, 2, 3] sharded<weights, shards = 2>", "on [4, 5, 6, 7] sharded<gradients, shards = 2>"],
        "1f1b",
    ),
    "one sharded": (TWO, ["on [0, 1] sharded<weights>", "on 2"], "1f1b"),
    "shares sharded": (TWO, ["on [0: 3, 1: 1] sharded<weights>", "on [2, 3]"], "1f1b"),
    "sharded chunks": (FOUR, ["on [0, 1] sharded<weights>", "on [2, 3] sharded<weights>"] * 2, "interleaved-1f1b"),
    "sharded units": (FOUR, ["on [0, 1] sharded<weights>", "on [2, 3] sharded<weights>"] * 2, "blockwise"),
    "sharded recompute": (TWO, ["on [0, 1] sharded<weights> recompute", "on [2, 3] sharded<weights>"], "1f1b"),
    "recompute": (TWO, ["on 0 recompute", "on 1 recompute"], "1f1b"),
    "recompute list": (TWO, ["on 0 recompute [@h1]", "on 1 recompute [@h3]"], "1f1b"),
    "recompute across": (TWO, ["on 0 recompute", "on 1 recompute across"], "1f1b"),
    "loop": (FOUR, ["on 0", "on 1"] * 2, "interleaved-zb"),
    "v": (FOUR, ["on 0", "on 1", "on 1", "on 0"], "zbv"),
    "eager": (TWO, ["on 0", "on 1"], "zb-h1"),
    "slots": (TWO, ["on 0", "on 1"], "zb-h1"),
    "nics": (TWO, ["on [0, 1]", "on [2, 3]"], "1f1b"),
    "links": (TWO, ["on 0", "on 1"], "zb-h1"),
}
CHANNELS = {"eager": " channels<eager>", "slots": " channels<rendezvous, receive_slots = 2>"}
OF_CLUSTER = {
    "nics": "  pipe.nic @c0 [@r0, @r1] <bytes_per_us = 200>\n  pipe.nic @c1 [@r2, @r3] <bytes_per_us = 300>\n",
    "links": "  pipe.link @r0 -> @r1 <latency_ns = 9000, bytes_per_us = 100>\n",
}


def module(name):
    layers, ranks, family = PLANS[name]
    devices = "".join(f"  pipe.device @r{r} <memory_bytes = {8000000 + r}, flops_per_us = 1000>\n" for r in range(8))
    lines = "".join(f"  pipe.layer @{l} {LAST.get(l, 'block')}\n" for l in LAYERS)
    stages = ""
    for number, (of, on) in enumerate(zip(layers, ranks)):
        stages += f"  pipe.stage @s{number} [{', '.join('@' + layer for layer in of)}] {on}\n"
    sizes = "vocab = 256, sequence = 16, hidden = 16, heads = 2, ffn = 32, batch = 4, tied = true"
    return (
        f"pipe.cluster @c{CHANNELS.get(name, '')} link<latency_ns = 1000, bytes_per_us = 1000> {{\n"
        f"{devices}{OF_CLUSTER.get(name, '')}}}\n"
        f"pipe.model @m gpt<{sizes}> {{\n{lines}}}\n"
        f"pipe.plan @p of @m on @c microbatches(4) {{\n{stages}}}\n"
        f'pipe.schedule @a of @p family<"{family}">\n'
    )


def rondo(*words):
    done = subprocess.run(["rondo", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"rondo {' '.join(map(str, words))}: {done.stderr}{done.stdout}")


def without_state(problem):
    """A problem whose devices say what is left for activations, and no more."""
    for rank in problem["ranks"]:
        rank.pop("device", None)
    return problem


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in PLANS:
        at = lambda ending: SCRATCH / f"{name.replace(' ', '-')}.{ending}"
        at("mlir").write_text(module(name))
        try:
            rondo("export", "rondo-schedule", at("mlir"), "-o", at("s.json"), "--problem-output", at("p.json"))
            rondo("import", "rondo-schedule", at("s.json"), "--problem", at("p.json"), "-o", at("again.mlir"))
            rondo("verify", at("again.mlir"))
            rondo("export", "rondo-schedule", at("again.mlir"), "-o", at("s2.json"), "--problem-output", at("p2.json"))
        except RuntimeError as error:
            wrong += 1
            print(f"{name}: {error}")
            continue
        problems = [without_state(json.loads(at(f"p{n}.json").read_text())) for n in ("", "2")]
        schedules = [json.loads(at(f"s{n}.json").read_text()) for n in ("", "2")]
        for key in sorted(problems[0].keys() | problems[1].keys()):
            if problems[0].get(key) != problems[1].get(key):
                wrong += 1
                print(f"{name}: {key} was {problems[0].get(key)}, is {problems[1].get(key)}")
        for key in "ranks", "makespan_ns", "peak_memory_bytes", "link_order":
            if schedules[0].get(key) != schedules[1].get(key):
                wrong += 1
                print(f"{name}: {key} was {schedules[0].get(key)}, is {schedules[1].get(key)}")
    print(f"{len(PLANS)} plans, wrong: {wrong}")


if __name__ == "__main__":
    main()
