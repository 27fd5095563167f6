//===- sharded.h - Replicas that keep a shard of their state ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group gather the weights that their tasks read, and add up
// the gradients that these make. A rank that has all replicas of a group, as
// that of the reference, does both in its own memory, with the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_SHARDED_H
#define RONDO_RUNTIME_EXECUTION_SHARDED_H

#include "runtime/execution/collectives.h"
#include "runtime/execution/weights.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A replica with a shard: the weights that it has gathered, and the gradients
/// that its group has not added yet. Gathers and sums are numbered in an
/// iteration.
class ShardedReplica final : public WeightSource {
public:
  ShardedReplica(const RankContext &context, RankLog &log,
                 Collectives &collectives, int32_t replica,
                 BufferPlace gathered, BufferPlace unreduced);
  /// Whether this rank has the whole group of both.
  bool isOfGroup(const ShardedReplica &other) const {
    return &other == this ||
           (isGroupHere && replica - binding.replica->shard ==
                               other.replica - other.binding.replica->shard);
  }
  /// All replicas of its group if this rank has them, in order; else it alone.
  void setGroup(const std::vector<ShardedReplica *> &all) { group = all; }

  /// Nothing is gathered, and nothing in flight.
  void beginIteration();
  /// Throws Error if anything is.
  void checkEnd() const;

  void unshard(int64_t unit);
  void reshard(int64_t unit);
  void reduceGrad(int64_t unit);
  char *weights(ActionKind kind, int64_t microbatch) override;
  /// Memory to which W adds; the first W of a unit finds zeros.
  char *gradients();

  /// Whether this rank alone does the collectives of the group, and has done
  /// one for this unit.
  bool hasDone(CollectiveKind kind, int64_t unit) const {
    return isGroupHere &&
           unit < (kind == CollectiveKind::GatherWeights ? gathers : sums);
  }
  /// The group's collective has been awaited.
  void finish(CollectiveKind kind, int64_t unit);

private:
  /// Makes the copies of gathered weights that tasks read in another dtype.
  void copyGathered(int64_t unit);
  void beginGradients();
  void endGradients();
  void reduceHere();
  void issue(ActionKind kind, int32_t collective, int64_t unit, char *whole);
  [[noreturn]] void fail(const std::string &what) const;

  const RankContext context;
  RankLog &log;
  Collectives &collectives;
  const int32_t replica;
  const ReplicaBinding &binding;
  Device &device;
  const BufferPlace gathered, unreduced;
  std::vector<ShardedReplica *> group;
  /// Elements of a shard, and bytes; 0 if the stage has no weights.
  const int64_t elements, bytes;
  const bool isGroupHere;
  /// The collectives of its group; -1: the rank has the whole group and needs
  /// none, or the program has none.
  int32_t gather = -1, scatter = -1;
  /// The stage's tensors in gradients that are not reduced yet; empty if none
  /// is the copy of another one.
  std::vector<Tensor> whole;

  /// Gathers issued, and the state of the last.
  int64_t gathers = 0;
  enum class Weights : uint8_t { Freed, Issued, Gathered };
  Weights weightState = Weights::Freed;
  /// Sums issued: the unit to which W adds. Whether it has added anything, and
  /// whether another replica of the group has already read it.
  int64_t sums = 0;
  enum class Gradients : uint8_t { None, Begun, Ended };
  Gradients gradientState = Gradients::None;
  /// Whether the last sum is in flight.
  bool isReducing = false;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_SHARDED_H
