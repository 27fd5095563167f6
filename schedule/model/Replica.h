//===- Replica.h - Stages on ranks ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_REPLICA_H
#define RONDO_SCHEDULE_MODEL_REPLICA_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rondo {

/// A stage on one rank. A stage has one or more replicas. Either every replica
/// takes a consecutive share of the samples of each micro-batch, or whole
/// micro-batches are assigned to the replicas round-robin.
struct Replica {
  int32_t stage = 0;
  int32_t index = 0;
  int32_t rank = 0;
  /// Its share: samples [firstSample, firstSample + samples) of each
  /// micro-batch that it takes.
  int32_t firstSample = 0, samples = 1;
  /// It takes the micro-batches congruent to `turn` modulo `turns`.
  int32_t turn = 0, turns = 1;
  /// If the stage's state is sharded: it keeps shard `shard` of `shards`. The
  /// replicas of a group are adjacent, in the order of their shards. `shards ==
  /// 1`: it keeps the whole state.
  int32_t shard = 0, shards = 1;

  bool isSharded() const { return shards > 1; }
  bool isRoundRobin() const { return turns > 1; }
  bool takes(int64_t microbatch) const {
    return turns == 1 || microbatch % turns == turn;
  }
  /// Number of micro-batches that it takes of the first `microbatches`.
  int64_t numTaken(int64_t microbatches) const {
    return (microbatches - turn + turns - 1) / turns;
  }
};

/// Number of samples of a micro-batch that both replicas take.
inline int32_t commonSamples(const Replica &a, const Replica &b) {
  const int32_t first = std::max(a.firstSample, b.firstSample);
  const int32_t end =
      std::min(a.firstSample + a.samples, b.firstSample + b.samples);
  return std::max(0, end - first);
}

/// Whether both replicas take some common micro-batch, given enough
/// micro-batches.
inline bool meet(const Replica &a, const Replica &b) {
  return (a.turn - b.turn) % std::gcd(a.turns, b.turns) == 0;
}

/// Whether two replicas take the same samples of the same micro-batches.
inline bool takeTheSame(const Replica &a, const Replica &b) {
  return a.firstSample == b.firstSample && a.samples == b.samples &&
         a.turn == b.turn && a.turns == b.turns;
}

/// Rank of a replica and number of its samples per micro-batch.
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

/// All replicas of a problem, ordered by stage, then by index. Data per replica
/// are indexed by the number in this list.
class Replicas {
public:
  int32_t size() const { return static_cast<int32_t>(list.size()); }
  int32_t numStages() const {
    return static_cast<int32_t>(firstOfStage.size()) - 1;
  }
  const Replica &operator[](int32_t number) const { return list[number]; }
  const Replica *begin() const { return list.data(); }
  const Replica *end() const { return list.data() + list.size(); }

  /// The number of a stage's replica. Precondition: the replica exists.
  int32_t numberOf(int32_t stage, int32_t replica = 0) const {
    return firstOfStage[stage] + replica;
  }
  ReplicaRange of(int32_t stage) const {
    return {list.data() + firstOfStage[stage],
            list.data() + firstOfStage[stage + 1]};
  }

  /// Whether any stage has several replicas.
  bool isReplicated() const { return size() > numStages(); }
  /// Whether any stage assigns whole micro-batches round-robin.
  bool areRoundRobin() const {
    return std::any_of(begin(), end(), [](const Replica &replica) {
      return replica.isRoundRobin();
    });
  }
  /// Whether the state of any stage is sharded.
  bool areSharded() const {
    return std::any_of(begin(), end(), [](const Replica &replica) {
      return replica.isSharded();
    });
  }
  /// The number of the first replica of its group.
  int32_t groupOf(int32_t number) const { return number - list[number].shard; }
  /// The stage's replica on a rank, or its first replica if it has none there.
  int32_t numberOn(int32_t stage, int32_t rank) const {
    for (int32_t replica = firstOfStage[stage];
         replica < firstOfStage[stage + 1]; ++replica)
      if (list[replica].rank == rank)
        return replica;
    return firstOfStage[stage];
  }

  /// [rank]: the numbers of its replicas, ascending. O(replicas + ranks).
  std::vector<std::vector<int32_t>> byRank(int32_t numRanks) const {
    std::vector<std::vector<int32_t>> numbers(numRanks);
    for (int32_t number = 0; number < size(); ++number)
      numbers[list[number].rank].push_back(number);
    return numbers;
  }

  /// Appends a stage with a replica per share, in the order of samples. Each
  /// group of `shards` consecutive replicas stores the state once.
  void addStage(const std::vector<Share> &shares, int32_t shards = 1) {
    const int32_t stage = numStages();
    int32_t replica = 0, firstSample = 0;
    for (const Share &share : shares) {
      Replica added{stage, replica, share.rank, firstSample, share.samples};
      added.shard = replica % shards;
      added.shards = shards;
      list.push_back(added);
      ++replica;
      firstSample += share.samples;
    }
    firstOfStage.push_back(size());
  }
  /// Appends a stage with one replica that takes all `samples`.
  void addStage(int32_t rank, int32_t samples = 1) {
    addStage(std::vector<Share>{{rank, samples}});
  }
  /// Appends a stage with a replica on each rank; whole micro-batches of
  /// `samples` are assigned to them round-robin.
  void addRoundRobinStage(const std::vector<int32_t> &ranks,
                          int32_t samples = 1) {
    const int32_t stage = numStages(), turns = int32_t(ranks.size());
    for (int32_t replica = 0; replica < turns; ++replica) {
      Replica added{stage, replica, ranks[replica], 0, samples};
      added.turn = replica;
      added.turns = turns;
      list.push_back(added);
    }
    firstOfStage.push_back(size());
  }
  void moveTo(int32_t number, int32_t rank) { list[number].rank = rank; }
  /// Makes a replica keep its whole state.
  void makeWhole(int32_t number) {
    list[number].shard = 0;
    list[number].shards = 1;
  }

private:
  std::vector<Replica> list;
  /// [stage]: the number of its first replica; one extra entry at the end.
  std::vector<int32_t> firstOfStage{0};
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_REPLICA_H
