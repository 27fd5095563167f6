//===- layouts.h - Where things lie in a layer's buffers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One struct per kind and buffer: the constructor places regions one after
// another. Offsets count elements and are multiples of 16, so that every region
// of floats or doubles starts at a multiple of bufferAlignment. layerSizes()
// and the bodies both use these, so that they cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYOUTS_H
#define RONDO_RUNTIME_MODEL_LAYOUTS_H

#include "runtime/model/saved_parts.h"

namespace rondo::runtime {

/// Places regions one after another.
class Layout {
public:
  /// Appends a region of `count` elements and returns its offset.
  constexpr int64_t place(int64_t count) { return place(count, count); }
  /// The same for a region that has only `used` values, and then zeros.
  constexpr int64_t place(int64_t count, int64_t used) {
    int64_t offset = elements;
    elements += (count + 15) / 16 * 16;
    numValues += used;
    return offset;
  }
  /// Elements of all regions with their padding.
  constexpr int64_t size() const { return elements; }
  /// Elements of all regions without padding.
  constexpr int64_t values() const { return numValues; }

private:
  int64_t elements = 0, numValues = 0;
};

/// Tokens of one micro-batch.
constexpr int64_t numTokens(const LayerDesc &layer) {
  return layer.rowTokens ? layer.rowTokens
                         : int64_t(layer.batch) * layer.sequence;
}
/// The most tokens that a document of the micro-batch may have.
constexpr int64_t maxDocumentTokens(const LayerDesc &layer) {
  return layer.rowTokens && layer.rowTokens < layer.sequence ? layer.rowTokens
                                                             : layer.sequence;
}

/// Width of an attention head; 0 for layers without heads.
constexpr int64_t headWidth(const LayerDesc &layer) {
  if (layer.llama.headWidth)
    return layer.llama.headWidth;
  return layer.heads ? layer.hidden / layer.heads : 0;
}
constexpr int64_t kvHeads(const LayerDesc &layer) {
  return layer.llama.kvHeads ? layer.llama.kvHeads : layer.heads;
}
/// Numbers of all query heads of a token: attention's output.
constexpr int64_t attentionWidth(const LayerDesc &layer) {
  return layer.heads * headWidth(layer);
}
/// Numbers of a token's q, k and v, which lie side by side.
constexpr int64_t qkvWidth(const LayerDesc &layer) {
  return attentionWidth(layer) + 2 * kvHeads(layer) * headWidth(layer);
}

/// A Llama has no position embedding, and its norms have no biases.
constexpr bool isLlama(const LayerDesc &layer) {
  return layer.kind == LayerKind::LlamaEmbedding ||
         layer.kind == LayerKind::LlamaBlock ||
         layer.kind == LayerKind::LlamaHead;
}

struct EmbeddingWeights {
  Layout all;
  int64_t token, position;

  constexpr explicit EmbeddingWeights(const LayerDesc &layer)
      : all(), token(all.place(int64_t(layer.vocab) * layer.hidden)),
        position(all.place(
            isLlama(layer) ? 0 : int64_t(layer.sequence) * layer.hidden)) {}
};

/// Saved for W. F writes the tokens (one element holds one int32), I the output
/// gradient.
struct EmbeddingSavedForW {
  SavedLayout<Layout> all;
  int64_t tokens, outputGrad;

  constexpr explicit EmbeddingSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        tokens(all.place(Part::Tokens, numTokens(layer))),
        outputGrad(
            all.place(Part::Gradients, numTokens(layer) * layer.hidden)) {}
};

/// Matrices are stored [in][out], as GPT-2 does.
struct BlockWeights {
  Layout all;
  int64_t norm1Gain, norm1Bias, qkv, qkvBias, proj, projBias;
  int64_t norm2Gain, norm2Bias, fc, fcBias, fcProj, fcProjBias;

  constexpr explicit BlockWeights(const LayerDesc &layer)
      : all(), norm1Gain(all.place(layer.hidden)),
        norm1Bias(all.place(layer.hidden)),
        qkv(all.place(int64_t(3) * layer.hidden * layer.hidden)),
        qkvBias(all.place(int64_t(3) * layer.hidden)),
        proj(all.place(int64_t(layer.hidden) * layer.hidden)),
        projBias(all.place(layer.hidden)), norm2Gain(all.place(layer.hidden)),
        norm2Bias(all.place(layer.hidden)),
        fc(all.place(int64_t(layer.hidden) * layer.ffn)),
        fcBias(all.place(layer.ffn)),
        fcProj(all.place(int64_t(layer.ffn) * layer.hidden)),
        fcProjBias(all.place(layer.hidden)) {}
};

/// Saved for I: the statistics that W does not need.
struct BlockSavedForI {
  SavedLayout<Layout> all;
  int64_t norm1Scale, norm2Scale, logSumExp;

  constexpr explicit BlockSavedForI(const LayerDesc &layer)
      : all(layer, Part::ForInputGrad),
        norm1Scale(all.place(Part::Statistics, numTokens(layer))),
        norm2Scale(all.place(Part::Statistics, numTokens(layer))),
        logSumExp(all.place(Part::Statistics, numTokens(layer) * layer.heads)) {
  }
};

/// Saved for W. In place, I turns q, k and v into their gradients, and the
/// slope of GELU into the gradient of GELU's input. It fills the last four
/// regions.
struct BlockSavedForW {
  SavedLayout<Layout> all;
  int64_t normal1, qkv, attention, normal2, geluSlope, afterGelu;
  int64_t middleGrad, outputGrad, norm1Grads, norm2Grads;

  constexpr explicit BlockSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        normal1(all.place(Part::Norm1, numTokens(layer) * layer.hidden)),
        qkv(all.place(Part::Qkv, 3 * numTokens(layer) * layer.hidden)),
        attention(all.place(Part::Attention, numTokens(layer) * layer.hidden)),
        normal2(all.place(Part::Norm2, numTokens(layer) * layer.hidden)),
        geluSlope(all.place(Part::Ffn, numTokens(layer) * layer.ffn)),
        afterGelu(all.place(Part::Activation, numTokens(layer) * layer.ffn)),
        middleGrad(all.place(Part::Gradients, numTokens(layer) * layer.hidden)),
        outputGrad(all.place(Part::Gradients, numTokens(layer) * layer.hidden)),
        norm1Grads(all.place(Part::Gradients, int64_t(2) * layer.hidden)),
        norm2Grads(all.place(Part::Gradients, int64_t(2) * layer.hidden)) {}
};

/// Queries that attention processes at once.
constexpr int64_t attentionRows(const LayerDesc &layer) {
  return maxDocumentTokens(layer) < 64 ? maxDocumentTokens(layer) : 64;
}

/// Scratch for one (document, head) of causal attention.
struct AttentionWorkspace {
  Layout all;
  int64_t probabilities, grads, keyGrad, valueGrad, rowDots;

  constexpr explicit AttentionWorkspace(const LayerDesc &layer)
      : all(), probabilities(
                   all.place(attentionRows(layer) * maxDocumentTokens(layer))),
        grads(all.place(attentionRows(layer) * maxDocumentTokens(layer))),
        keyGrad(all.place(maxDocumentTokens(layer) * headWidth(layer))),
        valueGrad(all.place(maxDocumentTokens(layer) * headWidth(layer))),
        rowDots(all.place(attentionRows(layer))) {}
};

struct BlockWorkspace {
  Layout all;
  int64_t activations, attention;

  constexpr explicit BlockWorkspace(const LayerDesc &layer)
      : all(), activations(all.place(
                   numTokens(layer) *
                   (layer.hidden > layer.ffn ? layer.hidden : layer.ffn))),
        attention(all.place(AttentionWorkspace(layer).all.size())) {}
};

/// Rows of a head's vocabulary matrix in memory: those after the last word are
/// 0 and stay so. GPU libraries are fast if rows of logits are whole packs.
constexpr int64_t paddedVocab(const LayerDesc &layer) {
  return (int64_t(layer.vocab) + 7) / 8 * 8;
}

/// The vocabulary matrix is stored [vocab][hidden], like the embedding's.
struct HeadWeights {
  Layout all;
  int64_t normGain, normBias, vocabulary;

  constexpr explicit HeadWeights(const LayerDesc &layer)
      : all(), normGain(all.place(layer.hidden)),
        normBias(all.place(isLlama(layer) ? 0 : layer.hidden)),
        vocabulary(all.place(paddedVocab(layer) * layer.hidden,
                             int64_t(layer.vocab) * layer.hidden)) {}
};

struct HeadSavedForI {
  SavedLayout<Layout> all;
  int64_t normScale;

  constexpr explicit HeadSavedForI(const LayerDesc &layer)
      : all(layer, Part::ForInputGrad),
        normScale(all.place(Part::Statistics, numTokens(layer))) {}
};

/// Saved for W. F leaves the gradient of the logits, I the norm's gradients.
struct HeadSavedForW {
  SavedLayout<Layout> all;
  int64_t normal, logitsGrad, normGrads;

  constexpr explicit HeadSavedForW(const LayerDesc &layer)
      : all(layer, Part::ForWeightGrad),
        normal(all.place(Part::Norm, numTokens(layer) * layer.hidden)),
        logitsGrad(all.place(Part::Logits, numTokens(layer) * layer.vocab)),
        normGrads(all.place(Part::Gradients,
                            (isLlama(layer) ? int64_t(1) : int64_t(2)) *
                                layer.hidden)) {}
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYOUTS_H
