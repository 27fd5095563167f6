//===- local_shard.h - What a replica with a shard has whole ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_LOCAL_SHARD_H
#define RONDO_RUNTIME_EXECUTION_LOCAL_SHARD_H

#include "runtime/device/tensor.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// Of a replica that keeps a shard of its stage's state: how far an iteration
/// has come with what it has whole for a while.
struct LocalShard {
  /// 1: the replica keeps all of its state, and the rest says nothing.
  int32_t shards = 1;
  bool isSharded() const { return shards > 1; }
  /// Of a shard; 0 if the stage has no weights.
  int64_t elements = 0;
  /// The collectives of its group; -1: this rank has all replicas of the group
  /// and needs none, or the program has none.
  int32_t gather = -1, scatter = -1;
  bool isGroupHere = false;
  /// The stage's tensors in gradients that are not reduced yet; empty if none
  /// is the copy of another one.
  std::vector<Tensor> whole;

  /// Gathers issued, and what has become of the last.
  int64_t gathers = 0;
  enum class Weights : uint8_t { Freed, Issued, Gathered };
  Weights weights = Weights::Freed;
  /// Sums issued: the unit to which W adds. Whether it has added anything, and
  /// whether another replica of the group has already read it.
  int64_t sums = 0;
  enum class Gradients : uint8_t { None, Begun, Ended };
  Gradients gradients = Gradients::None;
  /// Whether the last sum is under way.
  bool isReducing = false;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_LOCAL_SHARD_H
