# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of Megatron Core."""

import cases
from cases import LINE, LOOP, UNEVEN, V, WAVES, predicted

MICROBATCHES, TENSORS = 8, 100
# Layers of the stages, of 8.
LAYOUT = "Ett|t|tt|tt|tL"


def case(name, placement, family=None, limit=0.0, **options):
    options = {"tensors": TENSORS, **options}
    if placement == UNEVEN:
        options.setdefault("layout", LAYOUT)
    return cases.case(name, placement, family, limit, microbatches=MICROBATCHES, **options)


def plain():
    yield case("1f1b", LINE, "1f1b", as_schedule=True)
    yield case("zb-h1", LINE, "zb-h1")
    yield case("interleaved-zb, loop", LOOP, "interleaved-zb")
    yield case("searched, V", V)
    yield case("searched, uneven", UNEVEN)
    yield case("searched, waves of 8 stages", WAVES)
    yield case("searched, last stage in the middle", [1, 0, 1], layout="Ettt|tt|tttL")
    yield case("the walk, V", V, split="walk")
    yield case("the walk, zb-h1", LINE, "zb-h1", split="walk")
    yield case("frozen layers, V", V, frozen=True)
    yield case("tied embeddings, loop", LOOP, "interleaved-zb", tied=True)
    yield case("tied embeddings, V", V, tied=True, limit=1e-6)
    yield case("recomputation, waves", WAVES, recompute=True)
    yield case("per-token loss, V", V, per_token=True)
    yield case("evaluation, V", V, evaluate=[MICROBATCHES, 3])
    yield case("instead of Megatron's own, uneven", UNEVEN, use=True)


def profiles():
    yield case("profile and use, V", V, profile=True)
    yield case("profile and use, walk, uneven", UNEVEN, profile=True, split="walk")
    for name, placement in (("linear", LINE), ("V", V)):
        yield predicted(name, placement, MICROBATCHES)


def refusals():
    yield case("micro-batches", LINE, steps_of=4, refused="has 8 micro-batches, but this step")
    yield case("ranks", [0, 1, 2], refused="has 3 ranks, but Megatron's pipeline has 2")
    yield case("stages", [0, 1, 0], refused="8 layers do not divide by 3 stages")
    yield case("layout", V, layout="Ettt|tt|tttL", refused="has 3 stages, not 4")
    yield case("chunks", V, chunks_of=LINE, refused="was given 1 model chunks")
    yield case("placement", V, chunks_of=LOOP, refused="was given the chunk of another stage")
    yield case("the walk and fusion", V, split="walk", refused="would be added in I and again in W",
               config={"gradient_accumulation_fusion": True})  # fmt: skip
    yield case("the walk and recomputation", V, split="walk", recompute=True,
               refused="recompute_granularity")  # fmt: skip
    delay = {"config": {"delay_wgrad_compute": True}}
    yield case("delayed weight gradients and the walk", V, split="walk", **delay,
               refused='delay_wgrad_compute and split="walk"')  # fmt: skip
    yield case("delayed weight gradients without DDP", V, **delay,
               refused="needs chunks in a DistributedDataParallel")  # fmt: skip
    yield case("lengths", V, config={"variable_seq_lengths": True}, refused="variable_seq_lengths")


def parallel():
    yield case("DDP, overlapped reduction, V", V, ddp=True, tensors=200)
    yield case("DDP, overlapped reduction, uneven", UNEVEN, ddp=True, tensors=200)
    yield case("DDP, overlapped reduction, walk, V", V, ddp=True, split="walk", tensors=200)
    yield case("DDP, reduction at the end, waves", WAVES, ddp=True, overlap=False, tensors=200)
    yield case("DDP, tied embeddings, V", V, ddp=True, tied=True, tensors=200, limit=1e-6)
    yield case("profile and use, DDP, overlapped reduction, V", V, ddp=True, tensors=200, profile=True)
    delayed = {"delayed": True, "config": {"delay_wgrad_compute": True}}
    yield case("delayed weight gradients in queues, V", V, ddp=True, tensors=200, **delayed)
    yield case("delayed weight gradients in queues, zb-h1", LINE, "zb-h1", ddp=True, tensors=200, **delayed)
    yield case("distributed optimizer, V", V, ddp=True, distributed=True, tensors=200)


def tensors():
    yield case("tensor parallelism, V", V, tp=2, tensors=200)
    yield case("sequence parallelism, V", V, tp=2, sequence=True, tensors=200)
    yield case("sequence parallelism, uneven", UNEVEN, tp=2, sequence=True, tensors=200)


def groups():
    yield "two processes", 2, [*plain(), *profiles(), *refusals()]
    yield "pp 2 x dp 2", 4, list(parallel())
    yield "pp 2 x tp 2", 4, list(tensors())
