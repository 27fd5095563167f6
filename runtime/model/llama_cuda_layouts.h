//===- llama_cuda_layouts.h - A Llama block's buffers on CUDA ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like model/cuda_layouts.h, which has what a Llama's embedding and head share
// with a GPT's.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LLAMA_CUDA_LAYOUTS_H
#define RONDO_RUNTIME_MODEL_LLAMA_CUDA_LAYOUTS_H

#include "runtime/model/cuda_layouts.h"
#include "runtime/model/llama_layouts.h"

namespace rondo::runtime::cuda {

/// Columns that begin at a pack: 16 bytes in bf16.
constexpr int64_t packedColumns(int64_t count) {
  return chunksOf(count, 8) * 8;
}

/// A token's q, k and v side by side. Usual widths leave no gaps between them;
/// nothing reads a gap.
struct QkvColumns {
  int64_t keys, values, stride;

  constexpr explicit QkvColumns(const LayerDesc &layer)
      : keys(packedColumns(attentionWidth(layer))),
        values(keys + packedColumns(kvHeads(layer) * headWidth(layer))),
        stride(values + packedColumns(kvHeads(layer) * headWidth(layer))) {}
};

/// A token's gate and up side by side.
struct GateColumns {
  int64_t up, stride;

  constexpr explicit GateColumns(const LayerDesc &layer)
      : up(packedColumns(layer.ffn)), stride(2 * up) {}
};

/// Saved for I. `headNormal` and `headScale` are those of the CPU.
struct LlamaBlockSavedForI {
  ByteLayout all;
  int64_t norm1Scale, norm2Scale, logSumExp, headNormal, headScale;

  constexpr explicit LlamaBlockSavedForI(const LayerDesc &layer)
      : all(), norm1Scale(all.place(floatBytes(numTokens(layer)))),
        norm2Scale(all.place(floatBytes(numTokens(layer)))),
        logSumExp(all.place(floatBytes(numTokens(layer) * layer.heads))),
        headNormal(
            all.place(layer.llama.headNorm
                          ? activationBytes(layer, numTokens(layer) *
                                                       rotatedHeads(layer) *
                                                       headWidth(layer))
                          : 0)),
        headScale(
            all.place(layer.llama.headNorm
                          ? floatBytes(numTokens(layer) * rotatedHeads(layer))
                          : 0)) {}
};

/// In place, I turns q, k, v, gate and up into the gradients of the
/// projections' outputs, and the normals into the norms' outputs. It fills the
/// last three regions.
struct LlamaBlockSavedForW {
  ByteLayout all;
  int64_t normal1, qkv, attention, normal2, gate, product;
  int64_t middleGrad, outputGrad;
  /// In fp32: gradients of the gains of both norms, and with headNorm of those
  /// of q and k.
  int64_t gainGrads;

  constexpr explicit LlamaBlockSavedForW(const LayerDesc &layer)
      : all(), normal1(all.place(wide(layer, layer.hidden))),
        qkv(all.place(wide(layer, QkvColumns(layer).stride))),
        attention(all.place(wide(layer, attentionWidth(layer)))),
        normal2(all.place(wide(layer, layer.hidden))),
        gate(all.place(wide(layer, GateColumns(layer).stride))),
        product(all.place(wide(layer, layer.ffn))),
        middleGrad(all.place(wide(layer, layer.hidden))),
        outputGrad(all.place(wide(layer, layer.hidden))),
        gainGrads(all.place(
            floatBytes(2 * layer.hidden +
                       (layer.llama.headNorm ? 2 * headWidth(layer) : 0)))) {}

private:
  static constexpr int64_t wide(const LayerDesc &layer, int64_t columns) {
    return activationBytes(layer, numTokens(layer) * columns);
  }
};

struct LlamaBlockWorkspace {
  ByteLayout all;
  int64_t gemm, gemmBytes;
  /// [tokens, max(hidden, ffn, width of all query heads)].
  int64_t activations;
  /// As in BlockWorkspace.
  int64_t queryGrad, rowDots;
  /// For norms, and for bias gradients if there are biases.
  int64_t partials;

  constexpr explicit LlamaBlockWorkspace(const LayerDesc &layer)
      : all(), gemm(0), gemmBytes(0), activations(0), queryGrad(0), rowDots(0),
        partials(0) {
    const int64_t tokens = numTokens(layer), hidden = layer.hidden;
    const int64_t queries = attentionWidth(layer);
    const int64_t widest =
        larger(larger(QkvColumns(layer).stride, GateColumns(layer).stride),
               larger(hidden, queries));
    gemmBytes = gemmWorkspaceBytes(tokens, widest);
    gemm = all.place(gemmRegionBytes(gemmBytes));
    activations = all.place(activationBytes(
        layer, tokens * larger(larger(hidden, layer.ffn), queries)));
    queryGrad = all.place(activationBytes(layer, tokens * queries));
    rowDots = all.place(floatBytes(tokens * layer.heads));
    const int64_t gains =
        normChunks(tokens) *
        larger(hidden, layer.llama.headNorm ? 2 * headWidth(layer) : 0);
    const int64_t biases =
        layer.llama.qkvBias ? columnSumChunks(tokens) * qkvWidth(layer) : 0;
    partials = all.place(floatBytes(larger(gains, biases)));
  }
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_MODEL_LLAMA_CUDA_LAYOUTS_H
