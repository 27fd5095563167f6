# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what a script of bench/ printed: adaptive-claims.py SCRIPT < OUTPUT.

Simulated figures are the same on every machine. Of measured ones only what holds on a
busy machine too, or with a wide margin on one that does nothing else.
"""

import re
import sys


def rows_of(lines, first):
    """The words of the lines after the one that begins with `first`, without brackets."""
    start = next(n for n, line in enumerate(lines) if line.split()[:len(first)] == first)
    for line in lines[start + 1:]:
        yield line.replace("(", " ").replace(")", " ").replace(" to ", " ").split()


def simulate(lines):
    """Never slower than 1F1B or the tuner, near the best in hindsight, within the memory."""
    seen = []
    for row in rows_of(lines, ["ranks"]):
        ranks, room, ratio, mean, least, most, *numbers = map(float, row)
        fixed_k, best_k, tuner, one, regret, _, theirs, _, first_mib, _, _, mib = numbers
        seen.append((ranks, room, ratio))
        assert 10 < least <= mean <= most, row
        assert theirs < least and 0 < tuner and 0 < best_k <= fixed_k, row
        assert -0.5 < one, row
        assert 0 <= regret < 1, row
        assert mib <= room * first_mib, row
    assert seen == [(4, room, ratio) for room in (1, 2) for ratio in (0.25, 0.5, 1)], seen
    # A slower network leaves more to gain.
    gains = [float(row[3]) for row in rows_of(lines, ["ranks"])]
    assert gains[:3] == sorted(gains[:3]) and gains[3:] == sorted(gains[3:]), gains
    print(f"{len(seen)} rows: faster than 1F1B and the tuner, within 1 % of hindsight and within the memory")


def search(lines):
    """A longer search afterwards finds nothing much better for what was measured."""
    text = "\n".join(lines)
    found = re.findall(r"its schedule ([0-9.]+) ms; searched for 1 s ([0-9.]+) ms, off ([+-][0-9.]+) %; "
                       r"searched for 2 s ([0-9.]+) ms, off ([+-][0-9.]+) %", text)
    assert len(found) == 3, text
    for own, _, short, _, long in found:
        # 8 micro-batches of 3 ms on each rank.
        assert float(own) >= 24, own
        # No switch is made for less than 2 %.
        assert abs(float(short)) <= 2.1 and abs(float(long)) <= 2.1, (short, long)
    measured = re.findall(r"iteration before ([0-9.]+) ms, after the change ([0-9.]+) ms, at the end ([0-9.]+) ms", text)
    assert len(measured) == 3 and all(float(ms) >= 24 for row in measured for ms in row), measured
    assert re.search(r"60 bytes per us: switched after [0-9]+ ms", text), text
    print("3 bandwidths: no search of 1 or 2 s finds 2 % more")


def overhead(lines):
    """Measuring each iteration costs little, if tasks leave the cores free."""
    rows = {(row[0], " ".join(row[1:-6])): list(map(float, row[-6:]))
            for row in rows_of(lines, ["model", "decides"]) if row[0] in ("timed", "GPT")}
    assert len(rows) == 6, rows
    for (model, name), (ms, quarter, three, more, iterations, estimates) in rows.items():
        assert iterations == (25 if model == "timed" else 95), rows
        assert 0 < quarter <= ms <= three, rows
        assert estimates == 0 if name == "alone" else 1 <= estimates, rows
        if model == "timed":
            # (32 + 7) micro-batches of 3 ms.
            assert ms >= 117 and more < 10, rows
    print("timed tasks: 16 estimates with each iteration cost less than 10 %")


def sizes(lines):
    """It changes between sizes, and beats what was written."""
    rows = {row[0]: list(map(float, row[1:])) for row in rows_of(lines, ["schedule", "quick"]) if len(row) == 4}
    adaptive, written = rows["adaptive"], rows["main"]
    assert written[0] < written[1], rows
    assert adaptive[2] < written[2], rows
    assert all(seconds > 0 for row in rows.values() for seconds in row), rows
    changes = next(line for line in lines if line.startswith("changes: "))
    assert re.match(r"changes: \w+ after [0-9]+", changes), changes
    print("faster than what was written, after a change")


{"simulate": simulate, "search": search, "overhead": overhead, "sizes": sizes}[sys.argv[1]](sys.stdin.read().splitlines())
