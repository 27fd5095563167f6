//===- Problem.h - What is to be scheduled ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks, stages, costs, memory and links. A value: it is filled by an importer
// or by the dialect and then only read. check() judges the input, never the
// solution; solutions are judged by Legality.h.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROBLEM_H
#define RONDO_SCHEDULE_PROBLEM_H

#include "kinds/Shards.h"
#include "schedule/Action.h"
#include "schedule/Cards.h"
#include "schedule/Fault.h"
#include "schedule/Home.h"
#include "schedule/HostCosts.h"
#include "schedule/VersionPolicy.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// What one task costs. `acquireBytes` are taken when it starts, `releaseBytes`
/// are given back when it ends.
struct Cost {
  int64_t ns = 0;
  int64_t acquireBytes = 0;
  int64_t releaseBytes = 0;
  Lane lane = Lane::Compute;
};

/// A row of the cost table: by costColumn(kind).
using CostRow = std::array<Cost, numCostColumns>;

/// A dependence between homes: the `producer` task of home `from` makes a
/// message that home `to` needs. Forward edges feed F of `to`, InputGrad edges
/// feed I (or B) of `to`, Recompute edges feed R of `to`. Between stages with
/// several homes there is an edge for each pair of homes that have samples in
/// common. Its messages carry these, one for each micro-batch that both homes
/// take.
struct Edge {
  int32_t from = 0;
  int32_t to = 0;
  ActionKind producer = ActionKind::Forward;
  int64_t bytes = 0;
  /// The edge between the stages that it is part of, as makeGraph() numbers
  /// them. The messages of all its parts to one home make up one tensor.
  int32_t stageEdge = 0;

  MessageKind message() const { return traitsOf(producer).produces; }
};

/// A directed link. One message occupies it for ceil(1000 * bytes / bytesPerUs)
/// ns and arrives latencyNs after that. bytesPerUs == 0: no occupancy.
struct Link {
  int64_t latencyNs = 0;
  int64_t bytesPerUs = 0;

  int64_t occupancyNs(int64_t bytes) const;
};

/// How a directed rank pair hands over messages, in order. Eager: a send ends
/// as soon as one of the receiver's slots is free. Rendezvous: it ends when the
/// receive has been posted.
enum class Protocol : uint8_t { Eager, Rendezvous };

/// Which messages wait for one another.
enum class Queues : uint8_t {
  /// Those of one directed rank pair.
  PerPair,
  /// All that a rank sends and receives, in the order in which it issues them,
  /// as where a process has one communication stream. A message needs the heads
  /// of both ranks' queues and holds them until it has arrived; rendezvous,
  /// whatever the protocol says.
  PerRank,
};

struct ChannelModel {
  Protocol protocol = Protocol::Rendezvous;
  /// Receives that one channel may have posted and not yet consumed.
  /// 0: as many as there is memory for.
  int32_t receiveSlots = 0;
  Queues queues = Queues::PerPair;
};

enum class Objective : uint8_t { Makespan, Span };

/// What the bytes of an iteration may sum to, and its times to a quarter: below
/// that neither sums of the simulator nor products of the search overflow.
inline constexpr int64_t maxSum = int64_t(1) << 62;
/// Bytes of one message, so that its occupancy can be computed.
inline constexpr int64_t maxMessageBytes = int64_t(1) << 52;
inline constexpr int64_t maxRanks = int64_t(1) << 16;
/// Of a micro-batch.
inline constexpr int64_t maxSamples = int64_t(1) << 20;

/// Whether a home runs F again before its backward, and from what.
enum class Recomputation : uint8_t {
  None,
  /// From activations within the stage that F has kept.
  FromCheckpoint,
  /// From the stage's input, which stays until then.
  FromInput,
  /// From what R of the stages that feed it makes: nothing stays.
  FromStage,
};

inline constexpr int64_t noMemoryCap = std::numeric_limits<int64_t>::max();

/// What a rank's device holds throughout beside activations, in bytes.
struct DeviceMemory {
  int64_t deviceBytes = noMemoryCap;
  /// Weights, gradients, optimizer state, data, workspace and staging.
  int64_t stateBytes = 0;
};

class EdgeTable;

struct Problem {
  std::string name;
  /// Of all iterations; they are numbered through.
  int32_t microbatches = 0;
  /// Iterations that may overlap, with as many micro-batches each: the window
  /// of an asynchronous schedule. With more than one, every stage steps once in
  /// each.
  int32_t iterations = 1;
  /// Of a micro-batch; what the shares of a stage's homes add up to.
  int32_t samples = 1;
  /// Whether `samples` is known: the problem states it, and does not leave it
  /// at one for want of another.
  bool statesSamples = false;
  /// What activations may take, in bytes by rank; noMemoryCap where there is no
  /// limit.
  std::vector<int64_t> memoryCaps;
  /// By rank, where the caps are what state leaves of a device (0 where it
  /// leaves less); empty where activations are all that is known of. For
  /// messages, and to tell by how much a cap of 0 is missed.
  std::vector<DeviceMemory> devices;
  /// Where the stages live.
  Homes homes;
  /// [home * numCostColumns + costColumn(kind)]; with what the host adds.
  std::vector<Cost> costs;
  /// By rank; empty: the host takes no time.
  std::vector<HostCosts> hosts;
  /// By home; empty where none recomputes.
  std::vector<Recomputation> recomputation;
  /// By stage: what of its state its homes have in pieces; empty: nothing.
  std::vector<ShardedState> sharded;
  /// By stage; empty: all synchronous.
  std::vector<VersionPolicy> versions;
  /// By stage: what a version of its weights takes; empty: not known.
  std::vector<int64_t> weightBytes;
  /// A task that serves several micro-batches takes the time of one, and so
  /// does its message: how the papers count slots.
  bool countsOnce = false;
  /// Dependences between homes, from earlier to later ones by F and R and back
  /// by I.
  /// makeChain() writes the usual ones.
  std::vector<Edge> edges;
  Link link;
  /// Overrides of `link` by (from, to).
  std::map<std::pair<int32_t, int32_t>, Link> links;
  Cards cards;
  ChannelModel channels;
  Objective objective = Objective::Makespan;

  int32_t numRanks() const { return static_cast<int32_t>(memoryCaps.size()); }
  int32_t numStages() const { return homes.numStages(); }
  int32_t numHomes() const { return homes.size(); }
  int32_t rankOf(int32_t home) const { return homes[home].rank; }
  /// F, I and W of all micro-batches that each replica takes, of all
  /// iterations: the unit in which searches count work. O(replicas).
  int64_t numTasks() const;
  /// Of one iteration.
  int32_t microbatchesEach() const { return microbatches / iterations; }
  VersionPolicy policyOf(int32_t stage) const {
    return versions.empty() ? synchronousPolicy : versions[stage];
  }
  const Cost &cost(int32_t home, ActionKind kind) const {
    return costs[home * numCostColumns + costColumn(kind)];
  }
  Cost &cost(int32_t home, ActionKind kind) {
    return costs[home * numCostColumns + costColumn(kind)];
  }
  ShardedState shardedState(int32_t home) const {
    return sharded.empty() ? ShardedState::None : sharded[homes[home].stage];
  }
  /// Whether one rank runs all homes of a home's group, as the reference does:
  /// then it copies and adds by itself, at once, and waits for no other.
  bool isGroupLocal(int32_t home) const {
    const int32_t first = homes.groupOf(home);
    for (int32_t piece = 1; piece < homes[home].pieces; ++piece)
      if (rankOf(first + piece) != rankOf(first))
        return false;
    return true;
  }
  bool recomputes(int32_t home) const {
    return !recomputation.empty() && recomputation[home] != Recomputation::None;
  }
  /// Whether R of the home begins with what R of other stages makes.
  bool recomputesAcross(int32_t home) const {
    return !recomputation.empty() &&
           recomputation[home] == Recomputation::FromStage;
  }
  /// Whether any home does.
  bool hasRecomputationAcross() const;
  /// What must be done of a home's micro-batch before a task of it.
  Done neededFor(int32_t home, ActionKind kind) const {
    const ActionTraits &traits = traitsOf(kind);
    return (traits.makes & inputGradDone) && recomputes(home)
               ? traits.needs | recomputeDone
               : traits.needs;
  }
  /// What a message between two ranks gets where no other is in its way: their
  /// link, no faster than the cards that it crosses.
  Link linkBetween(int32_t from, int32_t to) const;
  /// Lets messages arrive when they are sent.
  void makeMessagesFree();

  /// Writes the edges of a chain: stage s feeds s+1 by F (stage edge s) and s+1
  /// feeds s by I (stage edge S-1 + s). The gradient message of stage s+1 to s
  /// has `outputBytes[s]`, as the activation of s has.
  void makeChain(const std::vector<int64_t> &outputBytes);
  /// Writes the edges of a graph: by `inputs`, for each stage, the stages that
  /// feed it, in the order in which it takes them. Each has a stage edge for F,
  /// stage after stage, and behind all of these, in the same order, its
  /// gradient's edge back. `outputBytes` are for all samples. Needs the homes.
  void makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                 const std::vector<int64_t> &outputBytes);
  /// Appends the parts of a stage edge, by `from` home and then by `to` home:
  /// each has the bytes that lie between its first and last sample.
  void addStageEdge(int32_t from, int32_t to, ActionKind producer,
                    int64_t bytes);

  /// Appends, for each edge by F to a home that recomputes from other stages,
  /// one of as many bytes by R.
  void addRecomputedEdges();

  /// Whether an edge's homes take the same, so that on one rank the consumer
  /// can read the producer's buffer. If not, it copies.
  bool isWhole(const Edge &edge) const {
    return takeTheSame(homes[edge.from], homes[edge.to]);
  }
  /// Whether an edge has a message of a micro-batch: both homes take it.
  bool carries(const Edge &edge, int64_t microbatch) const {
    return homes[edge.from].takes(microbatch) &&
           homes[edge.to].takes(microbatch);
  }

  /// [home * microbatches + microbatch]: nothing is done, except that of
  /// micro-batches that a home does not take, nothing is left to do.
  std::vector<Done> nothingDoneYet() const;

  /// Sets the costs of a stage's homes from a row for all samples. Times are in
  /// proportion to a home's samples, rounded up; of bytes, F takes as many as
  /// lie between its first and last sample, and the backward gives them back.
  void setCosts(int32_t stage, const CostRow &row);
  /// What the host of its rank needs for a task of a home, of any micro-batch:
  /// for the action, and for each message from and to other ranks.
  int64_t hostNs(const EdgeTable &table, int32_t home, ActionKind kind) const;
  /// Adds that to the costs of all tasks, once. The homes and edges are there,
  /// and no stage deals micro-batches, whose messages differ.
  void addHostCosts();
  /// Sets the F, I, W and B columns of a stage's homes from the figures of
  /// rondo-problem/1, which are for all samples. B takes I's and W's time and
  /// releases everything.
  void setStageCost(int32_t stage, int64_t forwardNs, int64_t inputGradNs,
                    int64_t weightGradNs, int64_t activationBytes,
                    int64_t inputGradFreesBytes);

  /// Lets the homes of a stage with costs recompute: R takes that long for all
  /// samples, and `bytes` of what F has taken are taken by R instead. F keeps
  /// `checkpointBytes` more, until the end of R.
  void setRecomputation(int32_t stage, Recomputation how, int64_t ns,
                        int64_t bytes, int64_t checkpointBytes);

  /// Lets the homes of a stage have its state in pieces: a group gathers
  /// `weightBytes` and reduces `gradientBytes`, all pieces together, in the
  /// time that its links take. Needs the homes, with their pieces, and the
  /// links.
  void setShards(int32_t stage, ShardedState how, int64_t weightBytes,
                 int64_t gradientBytes);

  /// The edges are those of makeChain(), and each stage has one home.
  bool isChain() const;

  /// What is wrong with the input, if anything: sizes out of range, a stage on
  /// no rank, negative costs, times that could sum to 2^60 ns, more
  /// released than taken.
  std::optional<Fault> check() const;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PROBLEM_H
