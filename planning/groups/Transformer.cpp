//===- Transformer.cpp - Weights and operations of a transformer ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Transformer.h"

namespace rondo::groups {

static int64_t attentionWeights(const Transformer &model) {
  const int64_t hidden = model.hidden, heads = model.heads;
  const int64_t output = heads * model.valueWidth * hidden;
  if (!model.latent)
    return hidden * (heads * model.queryWidth +
                     model.keyHeads * (model.queryWidth + model.valueWidth)) +
           output;
  const LatentAttention &latent = *model.latent;
  const int64_t queries =
      latent.queryRank > 0
          ? latent.queryRank * (hidden + heads * model.queryWidth)
          : hidden * heads * model.queryWidth;
  return queries + hidden * (latent.keyRank + latent.rotaryWidth) +
         latent.keyRank * heads *
             (model.queryWidth - latent.rotaryWidth + model.valueWidth) +
         output;
}

LayerWeights weightsOf(const Transformer &model, LayerKind kind) {
  const int64_t attention = attentionWeights(model);
  const int64_t matrices = model.numInner() + 1;
  if (kind == LayerKind::Dense)
    return {attention + matrices * model.hidden * model.ffn, 0};
  const Experts &experts = *model.experts;
  const int64_t expert = matrices * model.hidden * experts.ffn;
  return {attention + model.hidden * experts.count + expert * experts.shared,
          expert * experts.count};
}

int64_t numWeights(const Transformer &model) {
  int64_t sum = model.vocab * model.hidden * (model.isTied ? 1 : 2);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerWeights weights = weightsOf(model, model.kindOf(layer));
    sum += weights.shared + weights.experts;
  }
  return sum;
}

double flopsOfToken(const Transformer &model) {
  const double attention = 3.0 * double(model.sequence) * double(model.heads) *
                           double(model.queryWidth + model.valueWidth);
  double sum = 6.0 * double(model.vocab) * double(model.hidden);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerWeights weights = weightsOf(model, model.kindOf(layer));
    sum += 6.0 * double(weights.shared) + attention;
    if (weights.experts > 0)
      sum += 6.0 * double(weights.experts) * double(model.experts->perToken) /
             double(model.experts->count);
  }
  return sum;
}

} // namespace rondo::groups
