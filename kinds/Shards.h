//===- Shards.h - Shards of a stage's state ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage whose state is sharded has several replicas in a group, each of which
// keeps one of equal shards. Compiler and runtime take the sizes from here.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_SHARDS_H
#define RONDO_KINDS_SHARDS_H

#include <cstdint>

namespace rondo {

/// What of a stage lies sharded between the actions that need it whole, each
/// with all before it; ZeRO's stages (Rajbhandari et al. 2020).
enum class ShardedState : uint8_t {
  None,
  /// The optimizer's state: weights stay gathered throughout an iteration, and
  /// gradients are reduced at its end (ZeRO-1).
  Optimizer,
  /// Gradients are reduced after each unit (ZeRO-2).
  Gradients,
  /// Weights are gathered for each unit, and freed (ZeRO-3, FSDP).
  Weights,
};

/// Shards are multiples of this, in elements of fp32: they begin where vectors
/// of every processor, and NCCL, like them to.
inline constexpr int64_t shardAlignment = 32;

/// Elements of one of the equal shards of `count`. The last ones end behind
/// `count`: they are padded.
constexpr int64_t elementsOfShard(int64_t count, int64_t shards) {
  const int64_t each = (count + shards - 1) / shards;
  return (each + shardAlignment - 1) / shardAlignment * shardAlignment;
}

} // namespace rondo

#endif // RONDO_KINDS_SHARDS_H
