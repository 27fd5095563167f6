#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures points of ada_grouper.py as programs: ada_grouper_measured.py RONDO [MS [ITERATIONS [POINT...]]].

Four ranks are threads, layers only take time, and links have the imposed bandwidth. A unit of time
is MS ms (default 10); a figure is the median of ITERATIONS (default 3) iterations, in units, next to
the simulated one. "off" is how far the measured speed-up is from the simulated one. POINT: only
these values of c/F and of the speed.
"""

import os
import sys

from problems import row
from programs import measure

RONDO = sys.argv[1]
MS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
ITERATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
POINTS = [float(point) for point in sys.argv[4:]]
UNIT_US = 1000 * MS
UNIT = 1000 * UNIT_US  # ns
# Bytes that a link with a speed of 1 carries in a unit; a multiple of 1000 MS.
BYTES = 20000 * MS

worst = 0.0


def show(label, first, own):
    global worst
    (first_measured, first_computed), (measured, computed) = first, own
    off = 100 * (first_measured / measured / (first_computed / computed) - 1)
    worst = max(worst, abs(off))
    row(label, f"{measured / UNIT:.2f}", f"{computed / UNIT:.2f}",
        f"{first_measured / measured:.3f}x", f"{first_computed / computed:.3f}x", f"{off:+.1f} %")


def chosen(points):
    return [point for point in points if not POINTS or point in POINTS]


def groups():
    print("\nkFkB by c/F, S = 4, M = 16; F = I = W = 1; speed-up over k = 1")
    row("c/F, k", "measured", "computed", "measured", "computed", "off")
    for c in chosen((0.1, 0.25, 0.5, 0.75, 1)):
        schedules = {f"k{k}": f'family<"kfkb", k = {k}>' for k in (1, 2, 4)}
        figures = measure(RONDO, 4, 4, 16, UNIT, BYTES // UNIT_US, round(c * BYTES), schedules, ITERATIONS)
        for name, own in figures.items():
            show(f"{c:g}, {name[1:]}", figures["k1"], own)


def candidates():
    """64 samples; F(b) = 0.4 + 0.6 b, B = 2 F, c = b / speed; k b <= 4."""
    print("\ncandidates by speed, S = 4, 64 samples; speed-up over k = 1")
    row("speed, k", "measured", "computed", "measured", "computed", "off")
    for speed in chosen((100, 8, 4, 2, 1.5, 1)):
        figures = {}
        for k, b in ((1, 4), (2, 2), (4, 1)):
            figures[k] = measure(RONDO, 4, 4, 64 // b, round(UNIT * (0.4 + 0.6 * b)), round(speed * BYTES) // UNIT_US, b * BYTES,
                                 {"main": f'family<"kfkb", k = {k}>'}, ITERATIONS)["main"]
            show(f"{speed:g}, {k}", figures[1], figures[k])
        fastest = min(figures, key=lambda k: figures[k][0])
        print(f"fastest: k = {fastest}, computed k = {min(figures, key=lambda k: figures[k][1])}")


print(f"units of {MS} ms; load at the start {os.getloadavg()[0]:.1f}")
groups()
candidates()
print(f"\nspeed-ups are off by at most {worst:.1f} %; load at the end {os.getloadavg()[0]:.1f}")
