# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of torchtitan."""

from run import LINE, LOOP, UNEVEN, V

MICROBATCHES, TENSORS = 4, 45


def case(name, placement, family=None, limit=1e-5, **options):
    return {
        "name": name,
        "placement": placement,
        "family": family,
        "microbatches": MICROBATCHES,
        # Compares the gradients of the first step: AdamW would make much of their rounding.
        "limit": limit,
        "tensors": TENSORS,
        # torchtitan reads files of tasks alone.
        "kind": "torch-csv",
        **options,
    }


def plain():
    yield case("1f1b", LINE, "1f1b", as_schedule=True)
    yield case("searched, linear", LINE)
    yield case("interleaved-zb, loop", LOOP, "interleaved-zb")
    yield case("searched, V", V)
    yield case("searched, uneven", UNEVEN)
    yield case("chunked loss, searched, V", V, loss="chunked", warned="norm.weight")
    yield case("selective checkpoints", V, checkpoint="selective",
               refused="selective activation checkpoints cannot run")  # fmt: skip
    yield case("batch", V, batch=6, refused="do not divide the local batch of 6")
    yield case("stages", V, modules=3, refused="has 4 stages, but module_fqns_per_model_part")
    yield case("loss in the middle", [1, 0, 2, 1], refused="it will log -1", warned="log -1",
               error=True)  # fmt: skip


def groups():
    yield "two processes", 2, list(plain())
