//===- documents.h - Micro-batches that are rows of documents ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In an uneven program a micro-batch is one row of tokens: documents one after
// another, without padding. Attention stays within a document, and positions
// begin at 0 in each. Each document has a target for each of its tokens, the
// token after it in the data: its last target is no input.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_DOCUMENTS_H
#define RONDO_RUNTIME_MODEL_DOCUMENTS_H

#include "kinds/Shares.h"
#include "runtime/model/layer_kinds.h"

namespace rondo::runtime {

/// Whether the layer computes rows of documents, of any number of tokens.
/// Synthetic layers compute nothing.
constexpr bool takesDocuments(const LayerDesc &layer) {
  return layer.kind != LayerKind::Custom ||
         (layer.target == Target::Cpu && layer.custom.numStreams == 0 &&
          layer.custom.takesDocuments);
}

/// `layer`, which has `batch` samples of `sequence` tokens or another row, for
/// a row of `tokens`. Stated bytes and times are in proportion, rounded up; the
/// weights stay, so that no document is longer than `sequence`. A layer without
/// a `sequence` stays as it is: the caller has its sizes.
inline LayerDesc rowOfDocuments(const LayerDesc &layer, int32_t tokens) {
  LayerDesc row = layer;
  const int64_t all = layer.rowTokens > 0
                          ? int64_t(layer.rowTokens)
                          : int64_t(layer.batch) * layer.sequence;
  if (all == 0)
    return row;
  row.batch = 1;
  row.rowTokens = tokens;
  auto part = [&](int64_t figure) { return partOfUp(figure, tokens, all); };
  // Layers of an architecture round up their outputs.
  const int64_t rounded =
      layer.hidden > 0 ? gptActivationBuffer(layer) : int64_t(-1);
  for (int32_t k = 0; k < layer.numInputs; ++k)
    row.inputBytes[k] = layer.inputBytes[k] == rounded
                            ? gptActivationBuffer(row)
                            : part(layer.inputBytes[k]);
  row.forwardNs = part(layer.forwardNs);
  row.inputGradNs = part(layer.inputGradNs);
  row.weightGradNs = part(layer.weightGradNs);
  const int64_t forInputGrad = part(layer.inputGradFreesBytes);
  row.activationBytes =
      forInputGrad + part(layer.activationBytes - layer.inputGradFreesBytes);
  row.inputGradFreesBytes = forInputGrad;
  row.inputGradKeepsBytes = part(layer.inputGradKeepsBytes);
  row.outputBytes = part(layer.outputBytes);
  CustomDesc &custom = row.custom;
  custom.outputWithoutGradBytes = part(custom.outputWithoutGradBytes);
  custom.workspaceBytes = part(custom.workspaceBytes);
  custom.backwardWorkspaceBytes = part(custom.backwardWorkspaceBytes);
  for (int32_t k = 0; k < layer.numInputs; ++k)
    custom.inputWithoutGradBytes[k] = part(custom.inputWithoutGradBytes[k]);
  for (int32_t k = 0; k < custom.numParts; ++k)
    custom.parts[k].bytes = part(custom.parts[k].bytes);
  custom.flops = {part(custom.flops.forward), part(custom.flops.inputGrad),
                  part(custom.flops.weightGrad)};
  return row;
}

/// The target of a padding token: it has no loss, and its gradient is 0.
inline constexpr int32_t noTarget = -1;

/// Rows of drawn documents have a multiple of this many tokens, or the most
/// that the limits of their program allow. On GPUs a library chooses an
/// algorithm for each number of rows of a product, so a program has at most 64
/// of them; a row gets padding, documents after the others. CPUs need none.
constexpr int64_t rowGrid(Target target, int64_t mostTokens) {
  constexpr int64_t maxSizes = 64, tokensAtOnce = 8;
  if (target == Target::Cpu)
    return 1;
  return (mostTokens + maxSizes * tokensAtOnce - 1) /
         (maxSizes * tokensAtOnce) * tokensAtOnce;
}
constexpr int64_t paddedRow(int64_t tokens, int64_t grid, int64_t mostTokens) {
  const int64_t padded = (tokens + grid - 1) / grid * grid;
  return padded < mostTokens ? padded : mostTokens;
}

/// LayerArgs::lossScale of a row of `tokens`, padding included, in a batch of
/// `all` without padding. A head divides by the tokens of its row, so that the
/// losses of the rows times their shares add up to the mean of the batch. Equal
/// rows without padding have the share 1 / micro-batches, with the same bits.
constexpr double rowShare(int64_t tokens, int64_t all) {
  return static_cast<double>(tokens) / static_cast<double>(all);
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_DOCUMENTS_H
