//===- ShardedStages.h - `shard` of rondo-problem/2 -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_SHARDEDSTAGES_H
#define RONDO_FORMATS_JSON_SHARDEDSTAGES_H

#include "formats/json/ProblemParts.h"
#include "schedule/model/Problem.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace rondo::json {

/// What of a stage with so many replicas lies sharded, and in how many; without
/// `shard` in one.
std::optional<TextFault> readShard(const Fields &stage,
                                   const std::string &where, size_t replicas,
                                   ShardedState &what, int32_t &shards);

/// Costs of what sharded stages gather and reduce, of `parameter_bytes` each,
/// from the links, unless the stage states their time. A fault where the bytes
/// that a stage states for them are others.
std::optional<TextFault> addShardCosts(Problem &problem);

/// Writes `shard` of a stage that has it, with its bytes.
void writeShard(llvm::json::OStream &json, const Problem &problem,
                int32_t stage);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SHARDEDSTAGES_H
