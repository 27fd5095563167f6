//===- llama_sizes.h - Layouts and sizes of Llama's layers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic on descriptions that the caller has checked, like
// model/gpt_sizes.h. An embedding and a head differ from a GPT's in their
// layouts alone.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LLAMA_SIZES_H
#define RONDO_RUNTIME_MODEL_LLAMA_SIZES_H

#include "runtime/model/cuda_layouts.h"
#include "runtime/model/gpt_sizes.h"
#include "runtime/model/layouts.h"

namespace rondo::runtime {

//===----------------------------------------------------------------------===//
// Layouts of a Llama block's buffers.
//
// Like model/layouts.h, which has what a Llama's embedding and head share with
// a GPT's.
//===----------------------------------------------------------------------===//

/// Heads of q and k, which are normalised and rotated.
constexpr int64_t rotatedHeads(const LayerDesc &layer) {
  return layer.heads + kvHeads(layer);
}

/// Matrices are stored [out][in], as Hugging Face does.
struct LlamaBlockWeights {
  Layout all;
  int64_t norm1Gain, q, k, v, qBias, kBias, vBias, qNormGain, kNormGain, o;
  int64_t norm2Gain, gate, up, down;

  constexpr explicit LlamaBlockWeights(const LayerDesc &layer)
      : LlamaBlockWeights(layer, attentionWidth(layer),
                          kvHeads(layer) * headWidth(layer)) {}

private:
  constexpr LlamaBlockWeights(const LayerDesc &layer, int64_t queries,
                              int64_t keys)
      : all(), norm1Gain(all.place(layer.hidden)),
        q(all.place(queries * layer.hidden)), k(all.place(keys * layer.hidden)),
        v(all.place(keys * layer.hidden)),
        qBias(all.place(layer.llama.qkvBias ? queries : 0)),
        kBias(all.place(layer.llama.qkvBias ? keys : 0)),
        vBias(all.place(layer.llama.qkvBias ? keys : 0)),
        qNormGain(all.place(layer.llama.headNorm ? headWidth(layer) : 0)),
        kNormGain(all.place(layer.llama.headNorm ? headWidth(layer) : 0)),
        o(all.place(layer.hidden * queries)),
        norm2Gain(all.place(layer.hidden)),
        gate(all.place(int64_t(layer.ffn) * layer.hidden)),
        up(all.place(int64_t(layer.ffn) * layer.hidden)),
        down(all.place(int64_t(layer.hidden) * layer.ffn)) {}
};

/// Saved for I. `headNormal` holds a token's heads of q, then those of k,
/// normalised; so does `headScale` their scales.
struct LlamaBlockSavedForI {
  SavedLayout<Layout> all;
  int64_t norm1Scale, norm2Scale, logSumExp, headNormal, headScale;

  constexpr explicit LlamaBlockSavedForI(const LayerDesc &layer)
      : all(layer, Part::ForInputGrad),
        norm1Scale(all.place(Part::Statistics, numTokens(layer))),
        norm2Scale(all.place(Part::Statistics, numTokens(layer))),
        logSumExp(all.place(Part::Statistics, numTokens(layer) * layer.heads)),
        headNormal(all.place(Part::HeadNorms, layer.llama.headNorm
                                                  ? numTokens(layer) *
                                                        rotatedHeads(layer) *
                                                        headWidth(layer)
                                                  : 0)),
        headScale(all.place(Part::HeadNorms,
                            layer.llama.headNorm
                                ? numTokens(layer) * rotatedHeads(layer)
                                : 0)) {}
};

/// Saved for W. In place, I turns q, k, v, `gate` and `up` into the gradients
/// of the projections' outputs. It fills the last five regions.
struct LlamaBlockSavedForW {
  SavedLayout<Layout> all;
  int64_t normal1, qkv, attention, normal2, gate, up, product;
  int64_t middleGrad, outputGrad, norm1Grads, norm2Grads, headNormGrads;

  constexpr explicit LlamaBlockSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        normal1(all.place(Part::Norm1, numTokens(layer) * layer.hidden)),
        qkv(all.place(Part::Qkv, numTokens(layer) * qkvWidth(layer))),
        attention(all.place(Part::Attention,
                            numTokens(layer) * attentionWidth(layer))),
        normal2(all.place(Part::Norm2, numTokens(layer) * layer.hidden)),
        gate(all.place(Part::Ffn, numTokens(layer) * layer.ffn)),
        up(all.place(Part::Ffn, numTokens(layer) * layer.ffn)),
        product(all.place(Part::Activation, numTokens(layer) * layer.ffn)),
        middleGrad(all.place(Part::Gradients, numTokens(layer) * layer.hidden)),
        outputGrad(all.place(Part::Gradients, numTokens(layer) * layer.hidden)),
        norm1Grads(all.place(Part::Gradients, layer.hidden)),
        norm2Grads(all.place(Part::Gradients, layer.hidden)),
        headNormGrads(all.place(
            Part::Gradients, layer.llama.headNorm ? 2 * headWidth(layer) : 0)) {
  }
};

/// `cosines` and `sines` are [longest document][head width / 2].
struct LlamaBlockWorkspace {
  Layout all;
  int64_t activations, attention, cosines, sines;

  constexpr explicit LlamaBlockWorkspace(const LayerDesc &layer)
      : all(), activations(all.place(numTokens(layer) * widest(layer))),
        attention(all.place(AttentionWorkspace(layer).all.size())),
        cosines(all.place(maxDocumentTokens(layer) * (headWidth(layer) / 2))),
        sines(all.place(maxDocumentTokens(layer) * (headWidth(layer) / 2))) {}

private:
  static constexpr int64_t widest(const LayerDesc &layer) {
    const int64_t most = layer.hidden > layer.ffn ? layer.hidden : layer.ffn;
    return attentionWidth(layer) > most ? attentionWidth(layer) : most;
  }
};

} // namespace rondo::runtime

namespace rondo::runtime::cuda {

//===----------------------------------------------------------------------===//
// A Llama block's buffers on CUDA.
//
// Like model/cuda_layouts.h, which has what a Llama's embedding and head share
// with a GPT's.
//===----------------------------------------------------------------------===//

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
  SavedLayout<ByteLayout> all;
  int64_t norm1Scale, norm2Scale, logSumExp, headNormal, headScale;

  constexpr explicit LlamaBlockSavedForI(const LayerDesc &layer)
      : all(layer, Part::ForInputGrad),
        norm1Scale(all.place(Part::Statistics, floatBytes(numTokens(layer)))),
        norm2Scale(all.place(Part::Statistics, floatBytes(numTokens(layer)))),
        logSumExp(all.place(Part::Statistics,
                            floatBytes(numTokens(layer) * layer.heads))),
        headNormal(
            all.place(Part::HeadNorms,
                      layer.llama.headNorm
                          ? activationBytes(layer, numTokens(layer) *
                                                       rotatedHeads(layer) *
                                                       headWidth(layer))
                          : 0)),
        headScale(
            all.place(Part::HeadNorms,
                      layer.llama.headNorm
                          ? floatBytes(numTokens(layer) * rotatedHeads(layer))
                          : 0)) {}
};

/// In place, I turns q, k, v, gate and up into the gradients of the
/// projections' outputs, and the normals into the norms' outputs. It fills the
/// last three regions.
struct LlamaBlockSavedForW {
  SavedLayout<ByteLayout> all;
  int64_t normal1, qkv, attention, normal2, gate, product;
  int64_t middleGrad, outputGrad;
  /// In fp32: gradients of the gains of both norms, and with headNorm of those
  /// of q and k.
  int64_t gainGrads;

  constexpr explicit LlamaBlockSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        normal1(all.place(Part::Norm1, wide(layer, layer.hidden))),
        qkv(all.place(Part::Qkv, wide(layer, QkvColumns(layer).stride))),
        attention(
            all.place(Part::Attention, wide(layer, attentionWidth(layer)))),
        normal2(all.place(Part::Norm2, wide(layer, layer.hidden))),
        gate(all.place(Part::Ffn, wide(layer, GateColumns(layer).stride))),
        product(all.place(Part::Activation, wide(layer, layer.ffn))),
        middleGrad(all.place(Part::Gradients, wide(layer, layer.hidden))),
        outputGrad(all.place(Part::Gradients, wide(layer, layer.hidden))),
        gainGrads(all.place(
            Part::Gradients,
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

namespace rondo::runtime {

inline LayerSizes llamaBlockSizes(const LayerDesc &layer) {
  LayerSizes sizes = gptSizes(layer, LlamaBlockWeights(layer).all.size());
  setSavedForI<LlamaBlockSavedForI, cuda::LlamaBlockSavedForI>(layer, sizes);
  setSavedForW<LlamaBlockSavedForW, cuda::LlamaBlockSavedForW>(layer, sizes);
  sizes.workspace =
      gptBufferBytes<LlamaBlockWorkspace, cuda::LlamaBlockWorkspace>(layer);
  sizes.input = sizes.output = gptActivationBuffer(layer);
  return sizes;
}

/// If cuDNN's attention needs a larger workspace than this, own kernels run.
inline constexpr int64_t maxAttentionWorkspaceBytes = int64_t(1) << 30;

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LLAMA_SIZES_H
