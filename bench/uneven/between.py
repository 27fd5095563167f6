#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time between two iterations of a program that draws documents, in microseconds.

    bench/uneven/between.py RONDO [--microbatches N,N] [--iterations N] [--replicas]

Four ranks of one GPT block each, as threads and as processes over TCP. `prepare_ns` of
the log is the time from the end of an iteration, in which process 0 has planned the next
batch, until its ranks are ready to run it. The first iteration waits for its plan, so it
does not count. With --replicas the two middle ranks are replicas of one stage.
"""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from commands import command

PLAN = """pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {{
  pipe.device @c0 pipe.device @c1 pipe.device @c2 pipe.device @c3
}}
pipe.model @gpt gpt<vocab = 256, sequence = 64, hidden = 64, heads = 4, ffn = 256, batch = 1> {{
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}}
pipe.plan @drawn of @gpt on @lab microbatches({count}) tokens<most = 256, in_flight = {flight}> {{
{stages}}}
pipe.schedule @largest of @drawn family<"1f1b">
"""
ONE_EACH = {"flight": 1024, "stages": """  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @lm_head] on 3
"""}
REPLICAS = {"flight": 2048, "stages": """  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @h2] on [1, 2] round_robin
  pipe.stage @s3 [@h3, @lm_head] on 3
"""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rondo", type=pathlib.Path)
    parser.add_argument("--microbatches", default="8,16,32")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--replicas", action="store_true")
    given = parser.parse_args()
    launch = [sys.executable, ROOT / "test/runtime/Inputs/launch.py", "torchrun", 4, "--"]
    print("micro-batches           median  largest us")
    with tempfile.TemporaryDirectory() as folder:
        plan, program, text = (pathlib.Path(folder, name) for name in ("plan.mlir", "train", "text"))
        for number in range(40):
            text.with_name(f"text{number}").write_text("documents that differ in length " * (1 + number % 7))
        data = [word for number in range(40) for word in ("--data", text.with_name(f"text{number}"))]
        for count in map(int, given.microbatches.split(",")):
            plan.write_text(PLAN.format(count=count, **(REPLICAS if given.replicas else ONE_EACH)))
            command(given.rondo.resolve(), "compile", plan, "-o", program)
            for name, words in (("threads", []), ("TCP", launch)):
                log = pathlib.Path(folder, f"log-{count}-{name}")
                command(*words, program, *data, "--iterations", given.iterations + 1, "--held-out", 0,
                        "--json-log", log, "--quiet")
                times = [json.loads(line)["prepare_ns"] / 1e3 for line in log.read_text().splitlines()][1:]
                print(f"{count:13} {name:8} {statistics.median(times):7.0f} {max(times):8.0f}")


if __name__ == "__main__":
    main()
