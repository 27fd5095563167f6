//===- OnePipeline.h - One replica of a pipeline ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other tools order one pipeline. Data parallelism, shards of state and
// recomputation surround it there: they are options, and no actions.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_EXCHANGE_ONEPIPELINE_H
#define RONDO_FORMATS_EXCHANGE_ONEPIPELINE_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

/// The schedule of the first replica of the pipeline, whose stages are a chain
/// with one replica each: without gathers and reductions of shards, and with
/// recomputation as a part of the backward. Its `around` says what was left
/// out, and a note for each part does. Fails if the replicas of the stages do
/// not form pipelines with the same order, or if the stages are no chain; `who`
/// cannot say anything else.
Result<ExchangedSchedule> onePipeline(const ExchangedSchedule &given,
                                      const char *who,
                                      std::vector<std::string> &notes);

/// The part of the state that all stages shard. Fails if stages differ.
Result<ShardedState> stateOfAll(const ExchangedSchedule &schedule,
                                const char *who);

/// Whether a stage recomputes what tools that recompute block by block do. If
/// not, but something else, a note says so. Fails if the layers are not known.
Result<bool> recomputesBlocks(const ExchangedSchedule &schedule,
                              const char *who, std::vector<std::string> &notes);

/// The first stage that does not recompute all of its blocks; -1 if all stages
/// do. Precondition: the layers are known.
int32_t firstThatKeeps(const ExchangedSchedule &schedule);

/// The note on tools that recompute block by block, as far as it differs from a
/// stage's `recompute`.
std::string noteOfBlocks(const char *who);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_ONEPIPELINE_H
