//===- collectives.h - A rank's collectives ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_COLLECTIVES_H
#define RONDO_RUNTIME_EXECUTION_COLLECTIVES_H

#include "runtime/execution/rank_log.h"
#include "runtime/execution/weights.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Starts and awaits the collectives of a rank's program, each once a step.
class Collectives {
public:
  Collectives(const RankContext &context, double maxNorm);

  void beginRun(const Span &span);
  void beginIteration();
  /// Throws Error if a collective has been issued and not awaited.
  void checkEnd() const;

  /// Throws Error if the program does not have it.
  void check(ActionKind kind, int64_t collective) const;
  /// Starts a sum of gradients or a norm.
  void issueSum(int64_t collective, int64_t step);
  /// Starts a gather of weights or a sum of gradients of a group, of shards in
  /// `whole`. Throws Error through `fail` if the one before is not awaited.
  template <typename Fail>
  void issueShards(int64_t collective, int64_t unit, float *whole, Fail fail) {
    Progress &last = progress[firstEntry[collective]];
    if (last.state == Progress::Issued)
      fail(last.step);
    last = {Progress::Issued, unit};
    startShards(collective, whole);
  }
  /// Waits for what has been issued for the step; false: it has been awaited.
  bool await(int64_t collective, int64_t step);
  /// The sum of squares of an iteration of the run whose norm is awaited later,
  /// in the device's memory; null: it is not the last one awaited there.
  const double *lateSum(int64_t step) const;
  /// The program's collective of an entry of its wiring.
  int64_t collectiveOf(int64_t entry) const;

private:
  /// The state of an entry at the last step that it was issued for.
  struct Progress {
    enum State : uint8_t { NotIssued, Issued, Awaited } state = NotIssued;
    int64_t step = -1;
  };

  /// The entry of a collective that a step's runs as.
  int32_t entryOf(int64_t collective, int64_t step) const;
  /// The transport's number.
  int32_t numberOf(int32_t entry) const {
    return context.wiring.collectiveNumbers[entry];
  }
  void start(int64_t collective, int64_t step);
  /// Whether this rank has all replicas of a collective that gathers updates,
  /// and gathers them itself.
  bool isGatheredHere(const CollectiveDesc &desc) const;
  void startShards(int64_t collective, float *whole);
  void finish(int64_t collective, int64_t step);

  const RankContext context;
  const ProgramDesc &program;
  const double maxNorm;
  Emulation emulation;
  /// The replicas of this rank, and their control headers.
  std::vector<int32_t> replicas;
  std::vector<ControlHeader *> headers;
  const std::vector<int32_t> &firstEntry;
  std::vector<Progress> progress;
  double *lateSumOf(int32_t entry) const {
    return reinterpret_cast<double *>(lateSums->base()) + entry;
  }

  /// Indexed by entry: sums of squares for norms that are awaited later. Null:
  /// none are.
  std::unique_ptr<Arena> lateSums;
};

//===----------------------------------------------------------------------===//
// Sharded state.
//
// The replicas of a group gather the weights that their tasks read, and add up
// the gradients that these make. A rank that has all replicas of a group, as
// that of the reference, does both in its own memory, with the same bits.
//===----------------------------------------------------------------------===//

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

#endif // RONDO_RUNTIME_EXECUTION_COLLECTIVES_H
