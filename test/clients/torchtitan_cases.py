# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of torchtitan."""

import cases
from cases import LINE, LOOP, UNEVEN, V, predicted

MICROBATCHES, TENSORS = 4, 45


def case(name, placement, family=None, limit=1e-5, **options):
    """Compares the gradients of the first step: AdamW would make much of their rounding.
    torchtitan reads files of tasks alone."""
    options = {"tensors": TENSORS, "microbatches": MICROBATCHES, "kind": "torch-csv", **options}
    return cases.case(name, placement, family, limit, **options)


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


def profiles():
    yield predicted("V", V, 8)


def sharded():
    """FSDP with 2 shards takes one trainer a process: tensors keep the mesh of an older
    one. So each case has processes of its own, and the reference is in a file."""
    name = "pp 2 x dp_shard 2"
    first = {"name": "FSDP, own 1F1B", "keeps": True, "microbatches": MICROBATCHES,
             "limit": 0.0, "tensors": 0}  # fmt: skip
    options = {"tensors": 2 * TENSORS, "takes": True}
    yield f"{name}, own 1F1B", 4, [first]
    yield f"{name}, V", 4, [case("FSDP, searched, V", V, **options)]


def groups():
    yield "two processes", 2, list(plain())
    yield "profiles", 2, list(profiles())
    yield from sharded()
