#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulates two rules of gathers beside each other: rules.py RONDO [MODEL [GB_PER_S]].

The GPTs of plans.py, or the MODEL, in units of P micro-batches, 2 P of them, with 25
and 50 GB/s across servers, where ranks of a server gather at 400 and at 40 GB/s, or
GB_PER_S. "whole" keeps the chunks whole that a rank uses next, as many as Rondo
chooses; "unit" is ZeroPP's rule, which frees at a unit's end. Memory is that of the
fullest rank with its state, traffic what a rank receives of weights and gradients;
"longer" is how much longer an iteration is by units.
"""

import pathlib
import sys
import tempfile

import plans

RONDO = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = 2  # of P micro-batches
RULES = {"whole": "", "unit": " gathers<rule = unit>"}


def main():
    models = [m for m in plans.MODELS if len(sys.argv) < 3 or m.name == sys.argv[2]]
    if not models:
        raise SystemExit(f"{sys.argv[2]}: no such model; take one of {', '.join(m.name for m in plans.MODELS)}")
    print(f"units of P micro-batches, {ROUNDS} P of them")
    print("model  across  inside  rule          ms  exposed      GB  traffic  gathers  reductions  longer")
    for inside in [int(sys.argv[3])] if len(sys.argv) > 3 else (400, 40):
        plans.INSIDE = 1000 * inside
        for model in models:
            for across in (25, 50):
                first = None
                for rule, words in RULES.items():
                    cut = model.stages * model.chunks
                    schedule = f'family<"blockwise", u = {model.stages}>{words}'
                    with tempfile.TemporaryDirectory() as folder:
                        found = plans.figures(RONDO, folder, plans.plan(model, cut, ROUNDS * model.stages, "weights", schedule, 1000 * across))
                    first = first or found.ns
                    moved = (found.gathers + found.reductions) * 2 * model.parameters() * (model.layers // cut) * (plans.GROUP - 1) / plans.GROUP
                    print(f"{model.name:5} {across:7} {inside:7}  {rule:6} {found.ns / 1e6:9.1f} {found.exposed_ns() / 1e6:8.1f} {(found.peak_bytes + model.state_bytes()) / 1e9:7.1f}"
                          f" {moved / 1e9:8.1f} {found.gathers:8} {found.reductions:11}  {100 * (found.ns / first - 1):5.1f} %", flush=True)


if __name__ == "__main__":
    main()
