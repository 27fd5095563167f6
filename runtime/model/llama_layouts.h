//===- llama_layouts.h - Where things lie in a Llama block's buffers - C++ ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like model/layouts.h, which has what a Llama's embedding and head share with
// a GPT's.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LLAMA_LAYOUTS_H
#define RONDO_RUNTIME_MODEL_LLAMA_LAYOUTS_H

#include "runtime/model/layouts.h"

namespace rondo::runtime {

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
  Layout all;
  int64_t norm1Scale, norm2Scale, logSumExp, headNormal, headScale;

  constexpr explicit LlamaBlockSavedForI(const LayerDesc &layer)
      : all(), norm1Scale(all.place(numTokens(layer))),
        norm2Scale(all.place(numTokens(layer))),
        logSumExp(all.place(numTokens(layer) * layer.heads)),
        headNormal(all.place(layer.llama.headNorm
                                 ? numTokens(layer) * rotatedHeads(layer) *
                                       headWidth(layer)
                                 : 0)),
        headScale(all.place(layer.llama.headNorm
                                ? numTokens(layer) * rotatedHeads(layer)
                                : 0)) {}
};

/// Saved for W. In place, I turns q, k, v, `gate` and `up` into the gradients
/// of the projections' outputs. It fills the last five regions.
struct LlamaBlockSavedForW {
  Layout all;
  int64_t normal1, qkv, attention, normal2, gate, up, product;
  int64_t middleGrad, outputGrad, norm1Grads, norm2Grads, headNormGrads;

  constexpr explicit LlamaBlockSavedForW(const LayerDesc &layer)
      : all(), normal1(all.place(numTokens(layer) * layer.hidden)),
        qkv(all.place(numTokens(layer) * qkvWidth(layer))),
        attention(all.place(numTokens(layer) * attentionWidth(layer))),
        normal2(all.place(numTokens(layer) * layer.hidden)),
        gate(all.place(numTokens(layer) * layer.ffn)),
        up(all.place(numTokens(layer) * layer.ffn)),
        product(all.place(numTokens(layer) * layer.ffn)),
        middleGrad(all.place(numTokens(layer) * layer.hidden)),
        outputGrad(all.place(numTokens(layer) * layer.hidden)),
        norm1Grads(all.place(layer.hidden)),
        norm2Grads(all.place(layer.hidden)),
        headNormGrads(
            all.place(layer.llama.headNorm ? 2 * headWidth(layer) : 0)) {}
};

/// `cosines` and `sines` are [sequence][head width / 2].
struct LlamaBlockWorkspace {
  Layout all;
  int64_t activations, attention, cosines, sines;

  constexpr explicit LlamaBlockWorkspace(const LayerDesc &layer)
      : all(), activations(all.place(numTokens(layer) * widest(layer))),
        attention(all.place(AttentionWorkspace(layer).all.size())),
        cosines(all.place(layer.sequence * (headWidth(layer) / 2))),
        sines(all.place(layer.sequence * (headWidth(layer) / 2))) {}

private:
  static constexpr int64_t widest(const LayerDesc &layer) {
    const int64_t most = layer.hidden > layer.ffn ? layer.hidden : layer.ffn;
    return attentionWidth(layer) > most ? attentionWidth(layer) : most;
  }
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LLAMA_LAYOUTS_H
