#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures ZeroPP's schedules as programs: measured.py RONDO [FORWARD_MS [ITERATIONS]].

Layers only take time, and ranks are threads.
F, I and W take FORWARD_MS each (default 40); a figure is the median of
ITERATIONS (default 5) iterations, in forwards, beside the simulated one.
"""

import sys

from problems import row
from programs import measure

RONDO = sys.argv[1]
FORWARD_MS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
FORWARD_NS = 1000000 * FORWARD_MS
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 5


def show(label, figures):
    first = next(iter(figures.values()))
    for name, (measured, simulated) in figures.items():
        row(label, name.replace("one_f_one_b", "1f1b"), f"{measured / FORWARD_NS:.2f}", f"{simulated / FORWARD_NS:g}",
            f"{first[0] / measured:.3f}x", f"{first[1] / simulated:.3f}x")


def main():
    print(f"iteration time in forwards of {FORWARD_MS} ms, and speed-up over the first of a group")
    row("", "", "measured", "computed", "measured", "computed")
    for microbatches in (4, 16):
        figures = measure(RONDO, 4, 4, microbatches, 2 * FORWARD_NS, 0, 0, {"one_f_one_b": 'family<"1f1b">'}, ITERATIONS)
        figures |= measure(RONDO, 4, 8, microbatches, FORWARD_NS, 0, 0, {
            "breadth": 'family<"looped-bfs"> accumulate(schedule_order)', "zeropp": 'family<"blockwise", u = 4>'}, ITERATIONS)
        show(f"4, 2, {microbatches}", figures)


if __name__ == "__main__":
    main()
