//===- uneven_tables.h - Micro-batches that differ --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_UNEVEN_TABLES_H
#define RONDO_RUNTIME_MODEL_UNEVEN_TABLES_H

#include "runtime/model/layer.h"
#include "runtime/model/stage_tables.h"

#include <cstdint>

namespace rondo {
struct AffineCost;
}
namespace rondo::runtime {

struct Executable;
struct ProgramDesc;

/// The tables of micro-batches of one size, like those of a ProgramDesc.
struct MicrobatchDesc {
  const LayerDesc *layers;
  const ShareDesc *shares;
  const EdgeDesc *edges;
};

/// The documents of a micro-batch: `count` + 1 starts in its row of tokens, and
/// rowShare() of its tokens (documents.h).
struct DocumentsDesc {
  int32_t count;
  const int32_t *starts;
  double lossShare;
  /// Tokens of the last documents that are padding: they have no target
  /// (noTarget).
  int32_t padding = 0;
};

/// Limits of the batches of a program that draws documents and finds a schedule
/// for each batch. Its tables have the largest batch that these allow, so its
/// order and its slots serve any other one, too.
struct BatchLimitsDesc {
  /// The most tokens of a micro-batch, and of a document, which is cut there.
  int64_t rowTokens, documentTokens;
  int32_t microbatches;
  /// Tokens for whose activations a rank has memory in each of its stages, at
  /// least those of one micro-batch.
  int64_t inFlightTokens;
  /// One entry per rank: bytes of these activations, or what its device leaves
  /// of them: the cap of a search.
  const int64_t *activationBytes;
  /// Predicted ns of a task or step of each replica, as ProgramDesc::workNs:
  /// [replica * numCostColumns + costColumn(kind)]. Those of B are empty: it
  /// takes the sum of its I and W.
  const AffineCost *workNs;
};

/// Micro-batches of a program that differ.
struct UnevenDesc {
  int32_t numSizes;
  const MicrobatchDesc *sizes;
  /// One entry per micro-batch: its size.
  const int32_t *sizeOf;
  /// One entry per micro-batch; null: these are samples.
  const DocumentsDesc *documents;
  /// checkUneven(), which other programs do not link.
  void (*check)(const Executable &, const ProgramDesc &);
  /// Null: all iterations have the documents above.
  const BatchLimitsDesc *limits = nullptr;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_UNEVEN_TABLES_H
