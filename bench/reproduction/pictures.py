#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what the papers' schedules look like: pictures.py RONDO FOLDER.

Writes kfkb.svg, zeropp.svg and koala.svg with `rondo show`. Searches have an effort and no time limit, so
the pictures are the same each time.
"""

import json
import pathlib
import sys
import tempfile

from problems import problem, run, search

RONDO, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


def found(whole, caps, name):
    """The schedule that is searched for the problem under these caps, under a name of its own."""
    schedule = search(RONDO, [{**whole, "ranks": [{"memory_bytes": cap} for cap in caps]}], 2000)[0]
    return {**schedule, "family": name}


def draw(picture, whole, families, searched=()):
    with tempfile.TemporaryDirectory() as folder:
        schedules = pathlib.Path(folder, "schedules.jsonl")
        schedules.write_text("".join(json.dumps(s) + "\n" for s in searched))
        words = ["--schedules", str(schedules)] if searched else []
        for family in families:
            words += ["--family", family]
        print(*run(RONDO, "show", "@problem", *words, "-o", str(FOLDER / picture), problem=[whole]), sep="\n")


def ada_grouper():
    """A message of half a forward: what k = 2 gains with twice the memory, a search gains with that of 1F1B."""
    whole = problem("kfkb", 4, 8, range(4), (20, 20, 20), None, 10)
    draw("kfkb.svg", whole, ("1f1b", "kfkb:k=2"), [found(whole, (4, 3, 2, 1), "searched, memory of 1f1b")])


def zeropp():
    """Units of as many micro-batches as ranks, and of one less than twice that, where W fills every bubble."""
    whole = problem("units", 4, 14, [q % 4 for q in range(8)], (10, 20, 10))
    draw("zeropp.svg", whole, ("interleaved-1f1b", "blockwise:u=4", "blockwise:u=7"))


def koala():
    """Three stages, four micro-batches, a latency of one forward: the optima with room for one to four."""
    whole = problem("orders", 3, 4, range(3), (1, 2, 0), None, 0, 1)
    draw("koala.svg", whole, (), [found(whole, [cap] * 3, f"optimum holding {cap}") for cap in (1, 2, 3, 4)])


ada_grouper()
zeropp()
koala()
