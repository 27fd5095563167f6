//===- Replica.h - Stages on ranks ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_REPLICA_H
#define RONDO_SCHEDULE_MODEL_REPLICA_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rondo {

/// A stage's place on one rank. A stage has one or more replicas. Either every
/// replica takes its consecutive share of the samples of each micro-batch, or
/// the replicas are assigned whole micro-batches round-robin.
struct Replica {
  int32_t stage = 0;
  int32_t index = 0;
  int32_t rank = 0;
  /// Its share: `samples` of each micro-batch that it takes, from `firstSample`
  /// on.
  int32_t firstSample = 0, samples = 1;
  /// It takes micro-batches turn, turn + turns, and so on.
  int32_t turn = 0, turns = 1;
  /// Of a stage whose state is sharded: the shard that it keeps, of as many.
  /// The replicas of a group follow each other by their shards. One shard: it
  /// keeps all.
  int32_t shard = 0, shards = 1;

  bool isSharded() const { return shards > 1; }
  bool isRoundRobin() const { return turns > 1; }
  bool takes(int64_t microbatch) const {
    return turns == 1 || microbatch % turns == turn;
  }
  /// How many of the first micro-batches it takes.
  int64_t numTaken(int64_t microbatches) const {
    return (microbatches - turn + turns - 1) / turns;
  }
};

/// How many samples of a micro-batch two replicas both have.
inline int32_t commonSamples(const Replica &a, const Replica &b) {
  const int32_t first = std::max(a.firstSample, b.firstSample);
  const int32_t end =
      std::min(a.firstSample + a.samples, b.firstSample + b.samples);
  return std::max(0, end - first);
}

/// Whether two replicas take some micro-batches both, if there are enough.
inline bool meet(const Replica &a, const Replica &b) {
  return (a.turn - b.turn) % std::gcd(a.turns, b.turns) == 0;
}

/// Whether two replicas take the same samples of the same micro-batches.
inline bool takeTheSame(const Replica &a, const Replica &b) {
  return a.firstSample == b.firstSample && a.samples == b.samples &&
         a.turn == b.turn && a.turns == b.turns;
}

/// What a stage's replica is given: a rank, and samples of each micro-batch.
struct Share {
  int32_t rank = 0, samples = 1;
};

/// Consecutive replicas. Does not own them.
struct ReplicaRange {
  const Replica *first, *last;

  const Replica *begin() const { return first; }
  const Replica *end() const { return last; }
  int32_t size() const { return static_cast<int32_t>(last - first); }
};

/// All replicas of a problem, by stage and then by replica. Everything that
/// belongs to replicas is indexed by their numbers in this list.
class Replicas {
public:
  int32_t size() const { return static_cast<int32_t>(list.size()); }
  int32_t numStages() const {
    return static_cast<int32_t>(firstOfStage.size()) - 1;
  }
  const Replica &operator[](int32_t number) const { return list[number]; }
  const Replica *begin() const { return list.data(); }
  const Replica *end() const { return list.data() + list.size(); }

  /// The number of a replica. The replica must exist.
  int32_t numberOf(int32_t stage, int32_t replica = 0) const {
    return firstOfStage[stage] + replica;
  }
  ReplicaRange of(int32_t stage) const {
    return {list.data() + firstOfStage[stage],
            list.data() + firstOfStage[stage + 1]};
  }

  /// Whether a stage has several replicas.
  bool isReplicated() const { return size() > numStages(); }
  /// Whether a stage assigns micro-batches to its replicas.
  bool areRoundRobin() const {
    return std::any_of(begin(), end(), [](const Replica &replica) {
      return replica.isRoundRobin();
    });
  }
  /// Whether the state of a stage is sharded.
  bool areSharded() const {
    return std::any_of(begin(), end(), [](const Replica &replica) {
      return replica.isSharded();
    });
  }
  /// The number of the first replica of a replica's group.
  int32_t groupOf(int32_t number) const { return number - list[number].shard; }
  /// The stage's replica on a rank, or its first one where it has none there.
  int32_t numberOn(int32_t stage, int32_t rank) const {
    for (int32_t replica = firstOfStage[stage];
         replica < firstOfStage[stage + 1]; ++replica)
      if (list[replica].rank == rank)
        return replica;
    return firstOfStage[stage];
  }

  /// Appends a stage with a replica for each share, in the order of samples.
  /// Each group of `shards` of them keeps its state once.
  void addStage(const std::vector<Share> &shares, int32_t shards = 1) {
    const int32_t stage = numStages();
    int32_t replica = 0, firstSample = 0;
    for (const Share &share : shares) {
      list.push_back({stage, replica, share.rank, firstSample, share.samples,
                      /*turn=*/0, /*turns=*/1, replica % shards, shards});
      ++replica;
      firstSample += share.samples;
    }
    firstOfStage.push_back(size());
  }
  /// Appends a stage with one replica, which takes all `samples`.
  void addStage(int32_t rank, int32_t samples = 1) {
    addStage(std::vector<Share>{{rank, samples}});
  }
  /// Appends a stage with a replica on each rank, which are assigned whole
  /// micro-batches of `samples` in turn.
  void addRoundRobinStage(const std::vector<int32_t> &ranks,
                          int32_t samples = 1) {
    const int32_t stage = numStages(), turns = int32_t(ranks.size());
    for (int32_t replica = 0; replica < turns; ++replica)
      list.push_back(
          {stage, replica, ranks[replica], 0, samples, replica, turns});
    firstOfStage.push_back(size());
  }
  void moveTo(int32_t number, int32_t rank) { list[number].rank = rank; }
  /// Lets a replica keep its state in one shard.
  void makeWhole(int32_t number) {
    list[number].shard = 0;
    list[number].shards = 1;
  }

private:
  std::vector<Replica> list;
  /// By stage, and one more: the number of its first replica.
  std::vector<int32_t> firstOfStage{0};
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_REPLICA_H
