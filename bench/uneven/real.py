#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens per second of a GPT on documents: a schedule for each batch, padding, and equal packing.

    bench/uneven/real.py RONDO [--iterations N] [--runs N] [--threads N] [--megabytes N]

Documents are the licenses, manual pages and copyright files of this machine. Tokens are their
frequent words and single bytes, 2,048 in all. Two ranks, threads of one process with --threads
each, train a GPT of 4 blocks, hidden size 128, on 8 micro-batches of up to 1,024 tokens:

  batches  rows of whole documents, cut at 1,024 tokens, with a schedule for each batch
  padded   a document a row, padded to 1,024 tokens; only the tokens of documents count
  equal    documents joined and cut to 1,024 tokens, whose attention reaches other documents; 1F1B

The program of `equal` also serves for `padded`: its time does not depend on the tokens. A row is
the median of the runs, whose figure is the true tokens of all iterations but the first, by their
time. The machine should be quiet.
"""
import argparse
import array
import collections
import gzip
import json
import pathlib
import random
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command

MOST, MICROBATCHES, VOCAB, END = 1024, 8, 2048, 256
WORD = re.compile(rb" ?\w+|\s+|[^\w\s]")
PLAN = """pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {{ pipe.device @c0 pipe.device @c1 }}
pipe.model @gpt gpt<vocab = {vocab}, sequence = {most}, hidden = 128, heads = 4, ffn = 512, batch = 1> {{
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}}
pipe.plan @step of @gpt on @lab microbatches({count}) {limits} {{
  pipe.stage @s0 [@wte, @h0, @h1] on 0
  pipe.stage @s1 [@h2, @h3, @lm_head] on 1
}}
pipe.schedule @only of @step family<"1f1b">
"""


def texts(most_bytes):
    """The bytes of each document, in a fixed order."""
    files = sorted(path for pattern in ("common-licenses/*", "man/man[1-8]/*", "doc/*/copyright")
                   for path in pathlib.Path("/usr/share").glob(pattern) if path.is_file())
    random.Random(1).shuffle(files)
    found, size = [], 0
    for path in files:
        text = path.read_bytes()
        if path.suffix == ".gz":
            text = gzip.decompress(text)
        if text.strip() and size < most_bytes:
            found.append(text)
            size += len(text)
    return found


def tokenized(documents):
    """The tokens of each document: frequent words, and bytes."""
    words = [WORD.findall(text) for text in documents]
    counts = collections.Counter(word for text in words for word in text)
    numbers = {word: END + 1 + k for k, (word, _) in enumerate(counts.most_common(VOCAB - END - 1))}
    return [[token for word in text for token in ([numbers[word]] if word in numbers else word)] for text in words]


def write_tokens(documents, path):
    """llm.c's file of 16-bit tokens."""
    tokens = array.array("H")
    for document in documents:
        tokens.append(END)
        tokens.extend(document)
    header = array.array("i", [20240520, 1, len(tokens)] + 253 * [0])
    path.write_bytes(header.tobytes() + tokens.tobytes())


def share_of_rows(documents):
    """The part of a row that a document of a draw fills: the rule of docs/uneven.md."""
    draws = random.Random(1)
    lengths = [len(document) + 1 for document in documents]
    drawn = []
    for length in draws.choices(lengths, weights=lengths, k=20000):
        place = draws.randrange(length)
        drawn.append(min(MOST, length if place < MOST else length - place))
    return statistics.mean(drawn) / MOST


def rates(program, data, given, *flags):
    found = []
    for _ in range(given.runs):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            command(program, "--data", data, "--iterations", given.iterations + 1, "--threads", given.threads,
                    "--held-out", 0, "--json-log", log, "--quiet", *flags)
            lines = [json.loads(line) for line in log.read_text().splitlines()][1:]
        tokens = sum(line.get("tokens", MOST * MICROBATCHES) for line in lines)
        found.append((1e9 * tokens / sum(line["ns"] for line in lines), lines))
    return sorted(found, key=lambda run: run[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rondo", type=pathlib.Path)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=8)
    given = parser.parse_args()
    documents = tokenized(texts(1e6 * given.megabytes))
    share = share_of_rows(documents)
    lengths = sorted(map(len, documents))
    print(f"{len(documents)} documents of {lengths[0]} to {lengths[-1]} tokens, median {statistics.median(lengths):.0f}; "
          f"those drawn fill {100 * share:.1f} % of a padded row")
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "documents.bin")
        write_tokens(documents, data)
        programs = {}
        for name, limits in (("batches", f"tokens<most = {MOST}, in_flight = {2 * MOST}>"), ("equal", "samples(1)")):
            plan, programs[name] = pathlib.Path(folder, f"{name}.mlir"), pathlib.Path(folder, name)
            plan.write_text(PLAN.format(most=MOST, vocab=VOCAB, count=MICROBATCHES, limits=limits))
            command(given.rondo.resolve(), "compile", plan, "-o", programs[name])
        batches = rates(programs["batches"], data, given, "--end-token", END)
        equal = rates(programs["equal"], data, given)
    lines = [line for _, run in batches for line in run]
    searched = sum(line["schedule"] == "searched" for line in lines)
    print(f"{searched} of {len(lines)} batches had a schedule of a further search; "
          f"schedules took {statistics.median(line['search_ns'] for line in lines) / 1e6:.1f} ms in the median")
    print("              tokens/s  spread of the runs")
    for name, found, part in (("batches", batches, 1), ("padded", equal, share), ("equal", equal, 1)):
        runs = [part * rate for rate, _ in found]
        print(f"{name:10} {statistics.median(runs):11.0f}  {runs[0]:.0f} to {runs[-1]:.0f}")


if __name__ == "__main__":
    main()
