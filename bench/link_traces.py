#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes how links change, for `./train --link-trace`: link_traces.py KIND [OPTIONS] > trace.csv.

KIND is one of

    step        fast, then slow from half of the iterations on
    square      fast and slow in turn
    sawtooth    from fast to slow in eight steps, then fast again
    preemption  slow at random, for the share --duty of the phases
    bad-link    one link, --bad, is slow and fast in turn; the others are fast
    streams     fast throughout; in every other phase other jobs send messages of --message bytes over
                all links, which leave the slow rate

A phase lasts --phase iterations. Rates are in bytes per us.
"""

import argparse
import random
import sys

KINDS = ("step", "square", "sawtooth", "preemption", "bad-link")
STREAMS = "streams"


def phases(kind, iterations, phase, fast, slow, duty=0.5, seed=0):
    """(first iteration, rate) of each phase."""
    if kind == "step":
        return [(1, fast), (iterations // 2 + 1, slow)]
    draw = random.Random(seed)
    rates = []
    for number, first in enumerate(range(1, iterations + 1, phase)):
        if kind == "sawtooth":
            # Equal steps of the time that a message takes.
            part = number % 8 / 7
            rate = round(1 / ((1 - part) / fast + part / slow))
        elif kind == "preemption":
            rate = slow if draw.random() < duty else fast
        else:
            rate = slow if number % 2 else fast
        rates.append((first, rate))
    return rates


def rows(kind, changes, latency, bad=(0, 1), message=1000000):
    """CSV lines of all links, or of the two directions of one."""
    if kind == STREAMS:
        fast = max(rate for _, rate in changes)
        return ["iteration,from,to,latency_us,bytes_per_us,other_bytes_per_us,other_message_bytes"] + [
            f"{first},*,*,{latency},{fast},{fast - rate},{message if rate < fast else 0}" for first, rate in changes]
    links = [bad, bad[::-1]] if kind == "bad-link" else [("*", "*")]
    lines = ["iteration,from,to,latency_us,bytes_per_us"]
    if kind == "bad-link":
        lines.append(f"1,*,*,{latency},{max(rate for _, rate in changes)}")
    return lines + [f"{first},{a},{b},{latency},{rate}" for first, rate in changes for a, b in links]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=(*KINDS, STREAMS))
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--phase", type=int, default=100, help="iterations of a phase")
    parser.add_argument("--fast", type=int, default=10000, help="bytes per us")
    parser.add_argument("--slow", type=int, default=100, help="bytes per us")
    parser.add_argument("--latency", type=float, default=10, help="us")
    parser.add_argument("--duty", type=float, default=0.5, help="share of slow phases")
    parser.add_argument("--message", type=int, default=1000000, help="bytes of a message of other jobs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bad", default="0-1", metavar="A-B", help="ranks of the bad link")
    options = parser.parse_args()
    if min(options.iterations, options.phase, options.fast, options.slow) < 1:
        parser.error("iterations, phase and rates must be 1 or more")
    bad = tuple(int(rank) for rank in options.bad.split("-"))
    changes = phases(options.kind, options.iterations, options.phase, options.fast, options.slow, options.duty, options.seed)
    print("\n".join(rows(options.kind, changes, options.latency, bad, options.message)))


if __name__ == "__main__":
    sys.exit(main())
