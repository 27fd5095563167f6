#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws curves that curves.py wrote: picture.py SVG MICROBATCHES RATE JSON...

A row of the picture for each JSON: the loss over samples, and over seconds, of the
mean of the runs with that many micro-batches and that learning rate. Needs matplotlib.
"""

import io
import json
import pathlib
import re
import statistics
import sys

import matplotlib

matplotlib.use("svg")
# Fixed names, and letters as text: the same curves make the same small file.
matplotlib.rcParams.update({"svg.hashsalt": "rondo", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"]})
import matplotlib.pyplot as plt  # noqa: E402

from programs import SAMPLES  # noqa: E402

WINDOW = EVERY = 10  # iterations
LINES = {
    "1f1b": ("#000000", "-"),
    "zb-h1": ("#777777", "--"),
    "pipedream": ("#0072b2", "-"),
    "newest": ("#d55e00", "-"),
    "T1": ("#e69f00", "--"),
    "T1+T2": ("#cc79a7", "-"),
    "segments": ("#cc79a7", ":"),
    "T1+T2+T3": ("#882255", "--"),
    "timeprest": ("#009e73", "-"),
    "recompute": ("#009e73", "--"),
    "stashed": ("#009e73", ":"),
}


def points(row):
    """Iterations, and the mean of all runs' losses over the WINDOW before each."""
    ends = range(WINDOW, len(row["seconds"]) + 1, EVERY)
    return list(ends), [statistics.fmean(loss for run in row["losses"] for loss in run[end - WINDOW:end]) for end in ends]


def main():
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    output, count, rate = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    files = [json.loads(pathlib.Path(name).read_text()) for name in sys.argv[4:]]
    figure, panels = plt.subplots(len(files), 2, figsize=(10, 3.4 * len(files)), sharey="row", squeeze=False)
    for (left, right), rows in zip(panels, files):
        drawn = [row for row in rows if row["microbatches"] == count and row["rate"] == rate and row["method"] in LINES]
        if not drawn:
            raise SystemExit(f"no curve has {count} micro-batches and a rate of {rate:g}")
        for row in drawn:
            color, style = LINES[row["method"]]
            ends, losses = points(row)
            left.plot([SAMPLES * end for end in ends], losses, color=color, linestyle=style, linewidth=1.2, label=row["method"])
            right.plot([row["seconds"][end - 1] for end in ends], losses, color=color, linestyle=style, linewidth=1.2)
        left.set_ylabel(f"loss, {drawn[0]['stages']} stages")
        for panel in (left, right):
            panel.grid(color="#dddddd", linewidth=0.5)
            panel.spines[["top", "right"]].set_visible(False)
    panels[-1][0].set_xlabel("samples")
    panels[-1][1].set_xlabel("predicted seconds")
    panels[0][0].legend(ncols=2, fontsize=8, frameon=False)
    plural = "" if count == 1 else "es"
    figure.suptitle(f"{count} micro-batch{plural} an iteration, learning rate {rate:g}", fontsize=10)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    # A tenth of a point is enough for coordinates; matplotlib writes a millionth.
    output.write_text(re.sub(r' d="[^"]*"', lambda path: re.sub(r"\d+\.\d+", lambda n: f"{float(n[0]):.1f}", path[0]), text.getvalue()))


if __name__ == "__main__":
    main()
