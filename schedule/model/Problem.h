//===- Problem.h - Scheduling problems --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks, stages, costs, memory and links. An importer or the dialect fills it;
// after that it is only read. check() validates the input. Schedules are
// validated by the rules (schedule/rules/).
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_PROBLEM_H
#define RONDO_SCHEDULE_MODEL_PROBLEM_H

#include "kinds/Shards.h"
#include "schedule/model/Action.h"
#include "schedule/model/Fault.h"
#include "schedule/model/HostCosts.h"
#include "schedule/model/HostMemory.h"
#include "schedule/model/Infinity.h"
#include "schedule/model/Nics.h"
#include "schedule/model/Replica.h"
#include "schedule/model/VersionPolicy.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// Cost of one task. `acquireBytes` are allocated at its start, `releaseBytes`
/// are freed at its end. Bytes of F are held until I or W ends, bytes of I
/// until W ends unless I frees them itself.
struct Cost {
  int64_t ns = 0;
  int64_t acquireBytes = 0;
  int64_t releaseBytes = 0;
  Lane lane = Lane::Compute;
};

/// A row of the cost table, indexed by costColumn(kind).
using CostRow = std::array<Cost, numCostColumns>;

/// A dependence between replicas: the `producer` task of replica `from` makes a
/// message that replica `to` needs. Forward edges feed F of `to`, InputGrad
/// edges feed I (or B) of `to`, Recompute edges feed R of `to`. Between stages
/// with several replicas there is an edge for each pair of replicas with
/// samples in common. It carries one message of these samples for each
/// micro-batch that both replicas take.
struct Edge {
  int32_t from = 0;
  int32_t to = 0;
  ActionKind producer = ActionKind::Forward;
  int64_t bytes = 0;
  /// The stage edge that it is part of, as numbered by makeGraph(). The
  /// messages of all parts to one replica form one tensor.
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

/// Protocol of a channel (directed pair of ranks). Messages are delivered in
/// order. Eager: a send ends as soon as a receive slot is free. Rendezvous: it
/// ends when the receive has been posted.
enum class Protocol : uint8_t { Eager, Rendezvous };

/// Which messages share a queue.
enum class Queues : uint8_t {
  /// One queue per directed pair of ranks.
  PerPair,
  /// One queue per rank for all its sends and receives in issue order, as with
  /// one communication stream per process. A message needs the heads of both
  /// ranks' queues and occupies them until it has arrived. Always rendezvous;
  /// `protocol` is ignored.
  PerRank,
};

struct ChannelModel {
  Protocol protocol = Protocol::Rendezvous;
  /// Maximum number of receives that one channel may have posted and not yet
  /// consumed. 0: limited by memory only.
  int32_t receiveSlots = 0;
  Queues queues = Queues::PerPair;
};

enum class Objective : uint8_t { Makespan, Span };

/// Limit of the sum of all bytes of an iteration; the sum of all times is
/// limited to a quarter of it. Within these limits, sums of the simulator and
/// products of the search do not overflow.
inline constexpr int64_t maxSum = int64_t(1) << 62;
/// Maximum bytes of one message, so that computing its occupancy does not
/// overflow.
inline constexpr int64_t maxMessageBytes = int64_t(1) << 52;
inline constexpr int64_t maxRanks = int64_t(1) << 16;
/// Maximum samples of a micro-batch.
inline constexpr int64_t maxSamples = int64_t(1) << 20;

/// Whether a replica runs F again before its backward, and from which input.
enum class Recomputation : uint8_t {
  None,
  /// From activations within the stage that F has kept (checkpoints).
  FromCheckpoint,
  /// From the stage's input, which is kept until then.
  FromInput,
  /// From the output of R of the preceding stages; nothing is kept.
  FromStage,
};

inline constexpr int64_t noMemoryCap = infinite;

/// Memory of a rank's device and what is permanently allocated on it, in bytes.
struct DeviceMemory {
  int64_t deviceBytes = noMemoryCap;
  /// Weights, gradients, optimizer state, data, workspace and staging.
  int64_t stateBytes = 0;
};

class EdgeTable;

struct Problem {
  std::string name;
  /// Total over all iterations; numbered consecutively.
  int32_t microbatches = 0;
  /// Number of iterations that may overlap, each with the same number of
  /// micro-batches: the window of an asynchronous schedule. If greater than 1,
  /// every stage steps once per iteration.
  int32_t iterations = 1;
  /// Samples per micro-batch; the sum of the shares of a stage's replicas.
  int32_t samples = 1;
  /// Whether the problem states `samples`; otherwise it is 1 by default.
  bool statesSamples = false;
  /// [rank]: maximum bytes of activations; noMemoryCap if unlimited.
  std::vector<int64_t> memoryCaps;
  /// [rank]: the device, if caps are derived as device memory minus state (0 if
  /// negative); empty if only caps are given. Used by messages, and to compute
  /// by how much a cap of 0 is exceeded.
  std::vector<DeviceMemory> devices;
  /// The replicas of all stages and their ranks.
  Replicas replicas;
  /// [replica * numCostColumns + costColumn(kind)], including host time.
  std::vector<Cost> costs;
  /// Indexed by rank; empty: the host takes no time.
  std::vector<HostCosts> hosts;
  /// Indexed by replica; empty if none recomputes.
  std::vector<Recomputation> recomputation;
  /// [stage]: the part of its state that is sharded; empty: nothing.
  std::vector<ShardedState> sharded;
  /// Indexed by stage; empty: all synchronous.
  std::vector<VersionPolicy> versions;
  /// [stage]: bytes of one version of its weights; empty: unknown.
  std::vector<int64_t> weightBytes;
  /// Stages that share a weight, ascending: the step of each waits for the
  /// gradients of all of them. Empty: none. Families whose iterations overlap
  /// order tasks around these waits; the rules take them from collectives.
  std::vector<int32_t> tiedStages;
  /// A task that serves several micro-batches takes the time of one, and so
  /// does its message. Papers that count slots assume this.
  bool countsOnce = false;
  /// Costs that differ by micro-batch, [(replica * numCostColumns +
  /// costColumn(kind)) * microbatches + micro-batch], including host time.
  /// Empty: every micro-batch has `costs`. If not empty, `costs` has typical
  /// figures: rounded-up mean times, and the bytes of the largest micro-batch.
  std::vector<Cost> unevenCosts;
  /// [edge * microbatches + micro-batch]: bytes of messages. Empty: each has
  /// Edge::bytes. If not empty, Edge::bytes is their maximum.
  std::vector<int64_t> unevenBytes;
  /// Dependences between replicas. F and R edges lead to later stages, I edges
  /// to earlier ones. makeChain() creates those of a chain.
  std::vector<Edge> edges;
  Link link;
  /// Overrides of `link` by (from, to).
  std::map<std::pair<int32_t, int32_t>, Link> links;
  Nics nics;
  HostMemory hostMemory;
  ChannelModel channels;
  Objective objective = Objective::Makespan;

  int32_t numRanks() const { return static_cast<int32_t>(memoryCaps.size()); }
  int32_t numStages() const { return replicas.numStages(); }
  int32_t numReplicas() const { return replicas.size(); }
  int32_t rankOf(int32_t replica) const { return replicas[replica].rank; }
  /// Number of F, I and W of all iterations, over the micro-batches that each
  /// replica takes: the unit in which searches count work. O(replicas).
  int64_t numTasks() const;
  /// Micro-batches per iteration.
  int32_t microbatchesEach() const { return microbatches / iterations; }
  VersionPolicy policyOf(int32_t stage) const {
    return versions.empty() ? synchronousPolicy : versions[stage];
  }
  const Cost &cost(int32_t replica, ActionKind kind) const {
    return costs[replica * numCostColumns + costColumn(kind)];
  }
  Cost &cost(int32_t replica, ActionKind kind) {
    return costs[replica * numCostColumns + costColumn(kind)];
  }
  /// Whether micro-batches differ in costs or messages.
  bool isUneven() const { return !unevenCosts.empty() || !unevenBytes.empty(); }
  /// The cost of a task for one micro-batch.
  const Cost &cost(int32_t replica, ActionKind kind, int64_t microbatch) const {
    return unevenCosts.empty()
               ? cost(replica, kind)
               : unevenCosts[(replica * numCostColumns + costColumn(kind)) *
                                 int64_t(microbatches) +
                             microbatch];
  }
  /// The cost of an action, over all micro-batches that it serves.
  Cost costOf(Action action) const {
    const Cost &even = cost(action.subject, action.kind());
    return unevenCosts.empty() || !(action.isTask() || action.traits().isCopy())
               ? timesCount(even, action)
               : sumOfCosts(action);
  }
  /// Bytes of a message that serves `count` micro-batches from one on.
  int64_t bytesOf(int64_t edge, int64_t microbatch, int64_t count = 1) const {
    if (unevenBytes.empty())
      return edges[edge].bytes * count;
    int64_t sum = 0;
    for (int64_t i = microbatch; i < microbatch + count; ++i)
      sum += unevenBytes[edge * microbatches + i];
    return sum;
  }
  ShardedState shardedState(int32_t replica) const {
    return sharded.empty() ? ShardedState::None
                           : sharded[replicas[replica].stage];
  }
  /// Whether one rank runs all replicas of a replica's group, as in the
  /// reference. That rank copies and adds at once, without a collective.
  bool isGroupLocal(int32_t replica) const {
    const int32_t first = replicas.groupOf(replica);
    for (int32_t shard = 1; shard < replicas[replica].shards; ++shard)
      if (rankOf(first + shard) != rankOf(first))
        return false;
    return true;
  }
  bool recomputes(int32_t replica) const {
    return !recomputation.empty() &&
           recomputation[replica] != Recomputation::None;
  }
  /// Whether R of the replica starts from the output of R of other stages.
  bool recomputesAcross(int32_t replica) const {
    return !recomputation.empty() &&
           recomputation[replica] == Recomputation::FromStage;
  }
  /// Whether recomputesAcross() is true for any replica.
  bool hasRecomputationAcross() const;
  /// The tasks and copies of a replica's micro-batch that must be done before
  /// an action of `kind`. LOAD counts as done if the schedule does not copy the
  /// micro-batch: see progressAtStart().
  Done neededFor(int32_t replica, ActionKind kind) const {
    const ActionTraits &traits = traitsOf(kind);
    Done needed = traits.needs;
    if ((traits.makes & inputGradDone) && recomputes(replica))
      needed |= recomputeDone;
    if (hostMemory.mayCopy(replica) &&
        (traits.makes & traitsOf(consumerOf(*hostMemory.loads[replica])).makes))
      needed |= loadDone;
    return needed;
  }
  /// The link between two ranks, with the bandwidth limited by the NICs that it
  /// crosses. Contention with other messages is not included.
  Link linkBetween(int32_t from, int32_t to) const;
  /// Makes all links free: messages arrive when they are sent.
  void makeMessagesFree();

  /// Creates the edges of a chain: stage s feeds s+1 by F (stage edge s), and
  /// s+1 feeds s by I (stage edge S-1 + s). The activation of stage s and the
  /// gradient from s+1 to s have `outputBytes[s]` each.
  void makeChain(const std::vector<int64_t> &outputBytes);
  /// Creates the edges of a graph. `inputs[stage]` lists the stages that feed
  /// it, in the order of its inputs. Each input has a stage edge for F, stage
  /// by stage; the gradient edges follow in the same order.
  /// `outputBytes[stage]` is for all samples. Precondition: the replicas are
  /// set.
  void makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                 const std::vector<int64_t> &outputBytes);
  /// Appends the parts of a stage edge, ordered by `from` replica, then by `to`
  /// replica. Each has the bytes of the samples that both replicas take.
  void addStageEdge(int32_t from, int32_t to, ActionKind producer,
                    int64_t bytes);

  /// For each F edge to a replica that recomputes from other stages, appends an
  /// R edge with the same bytes.
  void addRecomputedEdges();

  /// Whether both replicas of an edge take the same samples and micro-batches.
  /// On one rank the consumer can then read the producer's buffer; otherwise it
  /// copies.
  bool isWhole(const Edge &edge) const {
    return takeTheSame(replicas[edge.from], replicas[edge.to]);
  }
  /// Whether an edge has a message for a micro-batch: both replicas take it.
  bool carries(const Edge &edge, int64_t microbatch) const {
    return replicas[edge.from].takes(microbatch) &&
           replicas[edge.to].takes(microbatch);
  }

  /// [replica * microbatches + microbatch]: the initial progress without
  /// copies: nothingDone, or tasksDone for micro-batches that a replica does
  /// not take, and copiesDone if any stage may copy.
  std::vector<Done> nothingDoneYet() const;

  /// Sets the costs of a stage's replicas from a row for all samples. Times are
  /// proportional to a replica's samples, rounded up. F acquires the bytes of
  /// the replica's samples, and the backward releases them.
  void setCosts(int32_t stage, const CostRow &row);
  /// Host time in ns of a task of a replica, for any micro-batch: for the
  /// action, and for each message from and to other ranks.
  int64_t hostNs(const EdgeTable &table, int32_t replica,
                 ActionKind kind) const;
  /// Adds hostNs() to the costs of all tasks; call it once. Preconditions:
  /// replicas and edges are set, and no stage is round-robin (its messages
  /// differ by micro-batch).
  void addHostCosts();
  /// Sets the F, I, W and B columns of a stage's replicas from the figures of
  /// rondo-problem/1, which are for all samples. B takes the time of I and W
  /// and releases everything.
  void setStageCost(int32_t stage, int64_t forwardNs, int64_t inputGradNs,
                    int64_t weightGradNs, int64_t activationBytes,
                    int64_t inputGradFreesBytes);

  /// Makes I and B of a stage's replicas take `bytes`, for all samples, which W
  /// and B free. Precondition: its costs are set.
  void keepForWeightGrad(int32_t stage, int64_t bytes);

  /// Makes the replicas of a stage recompute. Precondition: its costs are set.
  /// R takes `ns` for all samples and acquires `bytes` of F's activations in
  /// place of F. F additionally keeps `checkpointBytes` until the end of R.
  void setRecomputation(int32_t stage, Recomputation how, int64_t ns,
                        int64_t bytes, int64_t checkpointBytes);

  /// Sets the costs of a stage's sharded state: a group gathers `weightBytes`
  /// and reduces `gradientBytes`, the sizes of all shards together, in the time
  /// that its links need. Preconditions: replicas with their shards, and links,
  /// are set.
  void setShards(int32_t stage, ShardedState how, int64_t weightBytes,
                 int64_t gradientBytes);

  /// Lets a stage copy: sets the costs of SAVE and LOAD of its replicas.
  /// Preconditions: its costs, and the host links of its ranks, are set.
  void setCopies(int32_t stage, const StageCopies &copies);
  /// The same for one replica, whose copies are stated for its own samples.
  void setReplicaCopies(int32_t replica, const StageCopies &copies);
  /// The same problem whose stages do not copy.
  Problem withoutCopies() const;
  /// Time of a copy over a rank's host link, at the lower of its rate and that
  /// of its shared link. Nothing if the rank has no host link.
  std::optional<int64_t> copyNs(int32_t rank, int64_t bytes) const;
  /// Bytes of a micro-batch that a replica holds from the end of F until the
  /// task that LOAD is for: the limit of what SAVE frees.
  int64_t copyableBytes(int32_t replica, LoadBefore before,
                        int64_t microbatch) const;
  /// Sets costs and bytes by micro-batch, in the form of `unevenCosts` and
  /// `unevenBytes`; either may be empty. Where all micro-batches are equal,
  /// sets `costs` and Edge::bytes alone. Preconditions: edges and
  /// `microbatches` are set.
  void setUneven(std::vector<Cost> costsByMicrobatch,
                 std::vector<int64_t> bytesByMicrobatch);

  /// Whether the edges are those of makeChain() and each stage has one replica.
  bool isChain() const;

  /// The first error of the input, if any: sizes out of range, a stage on no
  /// rank, negative costs, sums that exceed maxSum (bytes) or maxSum / 4 (ns),
  /// more bytes released than acquired.
  std::optional<Fault> check() const;

private:
  Cost timesCount(const Cost &even, Action action) const {
    const auto count = static_cast<int64_t>(action.count);
    return {countsOnce ? even.ns : even.ns * count, even.acquireBytes * count,
            even.releaseBytes * count, even.lane};
  }
  Cost sumOfCosts(Action action) const;
};

/// The first error of a problem's iterations and versions, if any. Part of
/// Problem::check(); also works on incomplete problems.
std::optional<Fault> checkIterations(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_PROBLEM_H
