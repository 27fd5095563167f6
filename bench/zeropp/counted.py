#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts traffic and memory of compiled GPTs whose state is sharded: counted.py RONDO.

Two groups of two ranks, units of U micro-batches. Traffic is that of a block, counted
in the program: elements gathered and reduced, an iteration and micro-batch, in units
of h^2, beside the paper's 36 / U. They are whole tensors: the wire carries (g - 1) / g
of them. Memory is that of the first rank, in the arena that the program allocates.
"""

import collections
import pathlib
import re
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
HIDDEN, MICROBATCHES, GROUPS, GROUP = 64, 8, 2, 2
FLOAT = 4  # bytes


def source(chunks, unit, weights, shards):
    """A block in each of 2 * chunks stages, with the embedding in the first, the head in the last. `shards`: in groups, else whole on one rank each."""
    count = GROUPS * chunks
    ranks = GROUPS * (GROUP if shards else 1)
    lines = plans.blocks(count, ranks, HIDDEN, GROUP, MICROBATCHES)
    for i, names in enumerate(plans.layers_of(count)):
        group = i % GROUPS
        where = f"[{GROUP * group}, {GROUP * group + 1}] sharded<weights>" if shards else str(group)
        lines.append(f"  pipe.stage @s{i} [{names}] on {where}")
    gathers = f" gathers<weights = {weights}, gradients = 1>" if shards else ""
    return "\n".join(lines + ["}", f'pipe.schedule @units of @step family<"blockwise", u = {unit}>{gathers}']) + "\n"


class Lowered:
    """The pipeline program of a file: how often each action of a rank runs, its pools, and what lies in them."""

    def __init__(self, text):
        at = text.index(" pipeline arena [", text.index("pipe.program"))
        program = text[text.rindex("pipe.program", 0, at):]
        self.arena = [int(n) for n in re.match(r".*? arena \[([^\]]*)\]", program)[1].split(",")]
        self.counts = collections.Counter()  # (rank, op, stage)
        self.pools, self.places, self.buffers = {}, collections.defaultdict(set), {}
        rank, times = None, []
        for line in program.splitlines()[1:]:
            line = line.strip()
            if found := re.match(r"pipe\.pool @p(\d+) on (\d+) <offset = \d+, slot_bytes = (\d+), slots = (\d+)>", line):
                self.pools[int(found[1])] = (int(found[2]), int(found[3]), int(found[4]))
            elif found := re.match(r"pipe\.place (\w+) @(s\d+)(?::\d+)? in @p(\d+)", line):
                self.places[found[1]].add(int(found[3]))
            elif found := re.match(r"pipe\.rank (\d+) {", line):
                rank, times = int(found[1]), [1]
            elif found := re.match(r"pipe\.for %\w+ = (\d+) to (\d+)(?: step (\d+))? {", line):
                times.append(times[-1] * len(range(int(found[1]), int(found[2]), int(found[3] or 1))))
            elif line == "}":
                if not times:
                    break
                times.pop()
            elif rank is not None and (found := re.match(r"pipe\.(\w+) @(s\d+)", line)):
                self.counts[rank, found[1], found[2]] += times[-1]
        first = re.search(r"pipe\.stage @(s1) .*?buffers\[<([^>]*)>", text)
        self.block = {name: int(n) for name, n in re.findall(r"(\w+) = (\d+)", first[2])} if first else {}

    def slots(self, rank, *kinds):
        """(slots, bytes of each) of the pools of a rank in which such buffers lie, largest first."""
        pools = set().union(*(self.places[kind] for kind in kinds))
        return sorted(((slots, size) for on, size, slots in (self.pools[p] for p in pools) if on == rank), key=lambda pool: -pool[1])

    def bytes_of(self, rank, *kinds):
        return sum(slots * size for slots, size in self.slots(rank, *kinds))


def lowered(folder, *arguments):
    path = pathlib.Path(folder, "units.mlir")
    path.write_text(source(*arguments))
    return Lowered(plans.command(RONDO, "compile", path, "--emit", "lowered"))


def main():
    print(f"traffic of a block, h = {HIDDEN}, M = {MICROBATCHES}; h^2 elements a micro-batch")
    print("  V  U  whole  gathers  reductions  counted   36/U  with biases and norms")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for chunks in (2, 4):
            whole = lowered(folder, chunks, 2, 1, False)
            for unit in (2, 4, MICROBATCHES):
                for weights in (1, 2):
                    program = lowered(folder, chunks, unit, weights, True)
                    # Stage 1 is a block alone, on the second group.
                    gathers, reductions = (program.counts[GROUP, op, "s1"] for op in ("unshard", "reduce_grad"))
                    elements = (gathers * program.block["gathered_weights"] + reductions * program.block["unreduced_gradients"]) / FLOAT
                    exact = program.block["gathered_weights"] / FLOAT / (12 * HIDDEN**2)
                    print(f"{chunks:3} {unit:2} {weights:6} {gathers:8} {reductions:11} {elements / HIDDEN**2 / MICROBATCHES:8.2f} {36 / unit:6.2f} {36 / unit * exact:8.2f}")
                    rows.append((chunks, unit, weights, program, whole))
    print("\nmemory of rank 0, KiB; its chunks: one with the embedding, the others a block each")
    print("  V  U  whole  state  of unsharded  gathered, unreduced  bytes  formula  activations  U V  arena")
    for chunks, unit, weights, program, whole in rows:
        state, all_state = (p.bytes_of(0, "weights", "gradients", "moments") for p in (program, whole))
        held = ("gathered_weights", "unreduced_gradients")
        largest = max(size for _, size in program.slots(0, *held))
        slots = " + ".join(f"{count} x {size / 1024:.0f}" for count, size in program.slots(0, *held))
        activations = " + ".join(str(count) for count, _ in program.slots(0, "saved_for_weight_grad"))
        print(f"{chunks:3} {unit:2} {weights:6} {state / 1024:6.0f} {state / all_state:13.3f}  {slots:>19} {program.bytes_of(0, *held) / 1024:6.0f}"
              f" {(weights + 1) * largest / 1024:8.0f} {activations:>12} {unit * chunks:4} {program.arena[0] / 1024:6.0f}")


if __name__ == "__main__":
    main()
