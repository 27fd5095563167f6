//===- GroupWords.h - Words of plans of device groups -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_GROUPWORDS_H
#define RONDO_FORMATS_JSON_GROUPWORDS_H

namespace rondo::json {

/// In the order of groups::Generation, Recompute, Stack, Precision, Attention.
inline constexpr const char
    *generationWords[] = {"ampere", "hopper", "blackwell", "blackwell-ultra"},
    *recomputeWords[] = {"none",
                         "selective",
                         "full",
                         "layers",
                         "norms-and-activations",
                         "per-operation"},
    *stackWords[] = {"megatron-2021", "megatron-core", "fsdp", "nanotron",
                     "other"},
    *precisionWords[] = {"bf16", "fp16", "fp8", "fp8-blocks", "mxfp8", "nvfp4"},
    *attentionWords[] = {"flash", "fused-softmax", "separate"};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_GROUPWORDS_H
