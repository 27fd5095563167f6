# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of DeepSpeed."""

import cases
from cases import LINE, LOOP, UNEVEN, V, WAVES, predicted

MICROBATCHES, TENSORS = 8, 76
ZERO = {"zero_optimization": {"stage": 1}}
BF16 = {**ZERO, "bf16": {"enabled": True}}
# With DeepSpeed's BF16_Optimizer, which adds gradients up in fp32.
FP32_SUMS = {**BF16, "data_types": {"grad_accum_dtype": "fp32"}}


def case(name, placement, family=None, limit=0.0, **options):
    options = {"tensors": TENSORS, **options}
    return cases.case(name, placement, family, limit, microbatches=MICROBATCHES, **options)


def plain():
    yield case("1f1b", LINE, "1f1b", as_schedule=True)
    yield case("zb-h1", LINE, "zb-h1")
    yield case("interleaved-zb, loop", LOOP, "interleaved-zb")
    yield case("dualpipe-v", V, "dualpipe-v")
    yield case("searched, linear", LINE)
    yield case("searched, V", V)
    yield case("searched, uneven", UNEVEN)
    yield case("searched, waves of 8 stages", WAVES)
    yield case("searched, last stage in the middle", [1, 0, 1], bounds=[0, 2, 5, 8])
    yield case("deferred weights, V", V, split="store")
    yield case("deferred weights, uneven", UNEVEN, split="store")


def features():
    # The order of two sums differs if both copies are on one rank; AdamW would make
    # much of it.
    tied = {"model": "tied", "tensors": 73, "optimizer": "SGD"}
    yield case("tied, loop", LOOP, "interleaved-zb", **tied)
    yield case("tied, V", V, limit=1e-6, **tied)
    yield case("tied, waves of 8 stages", WAVES, limit=1e-6, **tied)
    yield case("tuples with a mask, V", V, model="tuple")
    yield case("tuples with a mask, uneven", UNEVEN, model="tuple")
    yield case("frozen layers, V", V, model="frozen")
    yield case("dropout by seeds of layers, waves", WAVES, model="dropout")
    options = {"activation_checkpoint_interval": 1}
    other = {**options, "use_reentrant": False}
    yield case("reentrant checkpoints, 1f1b", LINE, "1f1b", pipeline=options)
    yield case("reentrant checkpoints, deferred weights, V", V, pipeline=options, split="store")
    yield case("other checkpoints, deferred weights, V", V, pipeline=other, split="store")
    yield case("evaluation, V", V, evaluate=[None, 3])
    yield case("evaluation, uneven", UNEVEN, evaluate=[None, 5])
    yield case("files of V in 1F1B and waves", V, files=WAVES)


def profiles():
    yield case("profile and use, V", V, profile=True)
    yield case("profile and use, deferred weights, uneven", UNEVEN, profile=True, split="store")
    for name, placement in (("linear", LINE), ("V", V)):
        yield predicted(name, placement, MICROBATCHES, model="sleeping")


def refusals():
    yield case("micro-batches", LINE, gas=4, refused="has 8 micro-batches, but DeepSpeed "
               "(gradient_accumulation_steps) has 4")  # fmt: skip
    yield case("ranks", [0, 1, 2], refused="has 3 ranks, but DeepSpeed's pipeline has 2",
               num_stages=2)  # fmt: skip
    yield case("layers", [0, 1] * 5, refused="8 layers, but 10 stages")
    yield case("checkpoints and the walk", V, refused="checkpoints do not go with I and W",
               pipeline={"activation_checkpoint_interval": 1})  # fmt: skip
    yield case("overlap_comm", V, refused="overlap_comm",
               config={"zero_optimization": {"stage": 1, "overlap_comm": True}})  # fmt: skip
    yield case("immediate_grad_update", V, refused="immediate_grad_update",
               config={**FP32_SUMS,
                       "bf16": {"enabled": True, "immediate_grad_update": True}})  # fmt: skip
    yield case("clipping without ZeRO", V, config={"gradient_clipping": 1.0}, warned="pipe rank 0",
               refused="pipe rank 0")  # fmt: skip


def data_parallel():
    yield case("no ZeRO, V", V)
    yield case("ZeRO-1, V", V, config=ZERO)
    yield case("ZeRO-1, uneven", UNEVEN, config=ZERO)
    yield case("ZeRO-1 and bf16, V", V, config=BF16)
    yield case("profile and use, ZeRO-1, bf16 and sums in fp32, V", V, config=FP32_SUMS,
               profile=True)  # fmt: skip
    yield case("ZeRO-1, bf16 and sums in fp32, V", V, config=FP32_SUMS)
    yield case("ZeRO-1, bf16 and sums in fp32, waves, deferred weights", WAVES,
               config=FP32_SUMS, split="store")  # fmt: skip
    yield case("ZeRO-1, bf16 and sums in fp32, tied, loop", LOOP, "interleaved-zb",
               config=FP32_SUMS, model="tied", tensors=148)  # fmt: skip


def groups():
    yield "two processes", 2, [*plain(), *features(), *profiles(), *refusals()]
    ragged = case("shapes", V, model="shapes", refused="need one shape", ends=True)
    yield "an error of one process", 2, [ragged]
    yield "pp 2 x dp 2", 4, list(data_parallel())
