//===- Transformer.h - The sizes of a transformer ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a model's layers, without weights or names, from which the costs
// of groups of devices follow.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GROUPS_TRANSFORMER_H
#define RONDO_PLANNING_GROUPS_TRANSFORMER_H

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo::groups {

/// The feed-forward part of a layer with experts.
struct Experts {
  int64_t count = 0;
  /// Experts of each token.
  int64_t perToken = 1;
  /// Width of one expert.
  int64_t ffn = 0;
  /// Experts that every token passes.
  int64_t shared = 0;
  /// The first layers have an ordinary feed-forward part.
  int64_t denseLayers = 0;
};

/// Attention whose queries, keys and values go through narrower products
/// (DeepSeek-V2, arXiv:2405.04434, section 2.1).
struct LatentAttention {
  /// 0: queries have one product.
  int64_t queryRank = 0;
  int64_t keyRank = 0;
  /// Part of a head's width with rotary embedding, one for all heads.
  int64_t rotaryWidth = 64;
};

enum class LayerKind : uint8_t { Dense, Experts };

struct Transformer {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t keyHeads = 0;
  /// The widths of a head: of queries and keys, and of values.
  int64_t queryWidth = 0;
  int64_t valueWidth = 0;
  int64_t ffn = 0;
  /// The feed-forward part has a third matrix, as in SwiGLU.
  bool isGated = false;
  int64_t vocab = 0;
  int64_t sequence = 0;
  /// The head has the embedding's weights.
  bool isTied = false;
  bool hasDropout = false;
  /// Layers after the last one that predict further tokens, each with a head.
  int64_t extraPredictions = 0;
  /// Layers that attend to the last `window` tokens only.
  int64_t windowedLayers = 0;
  int64_t window = 0;
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;

  /// Layers with an ordinary feed-forward part; they come first.
  int64_t numDense() const { return experts ? experts->denseLayers : layers; }
  LayerKind kindOf(int64_t layer) const {
    return layer < numDense() ? LayerKind::Dense : LayerKind::Experts;
  }
  /// The kind of layers that predict further tokens.
  LayerKind extraKind() const {
    return experts ? LayerKind::Experts : LayerKind::Dense;
  }
  bool hasKind(LayerKind kind) const {
    return kind == LayerKind::Dense ? numDense() > 0 : numDense() < layers;
  }
  /// Products of a feed-forward part that read its input: 2 if gated.
  int64_t numInner() const { return isGated ? 2 : 1; }
};

/// Weights of a layer, in elements; those of norms and biases are left out.
struct LayerWeights {
  int64_t shared = 0;
  /// Weights of the experts, without the shared ones.
  int64_t experts = 0;
};
LayerWeights weightsOf(const Transformer &model, LayerKind kind);

/// The weights of the model, with embedding and head.
int64_t numWeights(const Transformer &model);

/// Floating-point operations of a token, forward and backward, nothing of it
/// recomputed: 6 for each weight that multiplies, and attention over all
/// earlier tokens, half of the sequence on average (as NVIDIA Megatron-Bridge
/// counts).
double flopsOfToken(const Transformer &model);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_TRANSFORMER_H
