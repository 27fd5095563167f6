//===- Shards.h - Shards of a stage's state ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group keep equal shards of a stage's state, one each.
// Compiler and runtime take the sizes from here.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_SHARDS_H
#define RONDO_KINDS_SHARDS_H

#include <cstdint>

namespace rondo {

/// The part of a stage's state that is sharded. Each value includes those
/// before it. They correspond to ZeRO's stages (Rajbhandari et al. 2020). A
/// stage that shards its moments alone counts as None: it keeps its weights and
/// gradients whole.
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

/// Shard sizes are multiples of this, in fp32 elements. It is the alignment
/// that vector instructions and NCCL prefer.
inline constexpr int64_t shardAlignment = 32;

/// Elements of each shard when `count` elements are divided into `shards` equal
/// shards. The last shards can extend beyond `count`; the excess is padding.
constexpr int64_t elementsOfShard(int64_t count, int64_t shards) {
  const int64_t each = (count + shards - 1) / shards;
  return (each + shardAlignment - 1) / shardAlignment * shardAlignment;
}

} // namespace rondo

#endif // RONDO_KINDS_SHARDS_H
