//===- MegatronLayout.h - Stages as Megatron-LM writes them -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H
#define RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

/// The value of --pipeline-model-parallel-layout: `Ett|(tt|)*2ttL`, shortened
/// where stages in a row are alike.
std::string megatronLayout(llvm::ArrayRef<StageLayers> layers);

/// A flag of Megatron-LM, and its value or an empty text.
using MegatronFlag = std::pair<const char *, const char *>;
/// The flags with which Megatron-LM's own replicas share a part of the state.
std::vector<MegatronFlag> megatronStateFlags(ShardedState state);

/// The order of each rank under Megatron-LM's 1F1B, or, with several stages a
/// rank in a loop, its interleaved schedule with groups of that many
/// micro-batches. Backwards are whole.
Schedule megatronSchedule(const Problem &problem, int64_t groupSize);

/// The micro-batches of an iteration of Megatron-LM.
struct MegatronGroups {
  /// Ranks of the pipeline, and stages on each rank.
  int64_t ranks = 1, chunks = 1;
  int64_t microbatches = 1;
  /// Micro-batches that a rank runs of a chunk before the next chunk.
  int64_t size = 1;
};

/// Why Megatron-LM does not run its interleaved schedule in these groups, with
/// its rule, one sentence in lower case; empty if it does. It runs any number
/// of micro-batches with one chunk.
std::string whyNoGroups(const MegatronGroups &groups);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_MEGATRONLAYOUT_H
