# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of a program's iterations: predicted, and measured."""

import json
import re

from commands import command


def predicted_ns(text):
    """The time of an iteration in an emitted program, with its steps and its norm."""
    found = re.search(r"ProgramKind::Pipeline,.*?\n\s+(\d+), \d+, pipeline::peak_memory_bytes", text, re.S)
    if not found:
        raise SystemExit("the program has no predicted time at the expected position")
    return int(found[1])


def logged_ns(log):
    """The time of each iteration in a file of --json-log, whose other lines have losses on held-out data."""
    lines = map(json.loads, log.read_text().splitlines())
    return [line["ns"] for line in lines if "ns" in line]


def measured_ns(program, log, iterations, *flags):
    """Runs a program, and returns the times of `iterations`. The first one, which touches the memory, is left out."""
    command(program, *flags, "--iterations", iterations + 1, "--json-log", log, "--quiet")
    return logged_ns(log)[1:]
