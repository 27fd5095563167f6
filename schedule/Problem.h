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

#include "schedule/Action.h"
#include "schedule/Fault.h"
#include "schedule/Home.h"

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

/// A dependence between stages: the `producer` task of stage `from` makes a
/// message that stage `to` needs. Forward edges feed F of `to`, InputGrad edges
/// feed I (or B) of `to`.
struct Edge {
  int32_t from = 0;
  int32_t to = 0;
  ActionKind producer = ActionKind::Forward;
  int64_t bytes = 0;

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

inline constexpr int64_t noMemoryCap = std::numeric_limits<int64_t>::max();

/// What a rank's device holds throughout beside activations, in bytes.
struct DeviceMemory {
  int64_t deviceBytes = noMemoryCap;
  /// Weights, gradients, optimizer state, data and workspace.
  int64_t stateBytes = 0;
};

struct Problem {
  std::string name;
  int32_t microbatches = 0;
  /// Of one micro-batch; 0 if they are not known. For advice alone.
  int64_t samplesOfMicrobatch = 0;
  /// What activations may take, in bytes by rank; noMemoryCap where there is no
  /// limit.
  std::vector<int64_t> memoryCaps;
  /// By rank, where the caps are what state leaves of a device (0 where it
  /// leaves less); empty where activations are all that is known of. For
  /// messages, and to tell by how much a cap of 0 is missed.
  std::vector<DeviceMemory> devices;
  /// Where the stages live. check() asks for exactly one home a stage.
  Homes homes;
  /// [stage * numCostColumns + costColumn(kind)].
  std::vector<Cost> costs;
  /// Dependences between stages, from earlier to later ones by F and back by I.
  /// makeChain() writes the usual ones.
  std::vector<Edge> edges;
  Link link;
  /// Overrides of `link` by (from, to).
  std::map<std::pair<int32_t, int32_t>, Link> links;
  ChannelModel channels;
  Objective objective = Objective::Makespan;

  int32_t numRanks() const { return static_cast<int32_t>(memoryCaps.size()); }
  int32_t numStages() const { return homes.numStages(); }
  const Home &homeOf(int32_t stage, int32_t replica = 0) const {
    return homes[homes.numberOf(stage, replica)];
  }
  /// Of a task or a step.
  const Home &homeOf(Action action) const {
    return homeOf(static_cast<int32_t>(action.stage),
                  static_cast<int32_t>(action.replica));
  }
  const Cost &cost(int32_t stage, ActionKind kind) const {
    return costs[stage * numCostColumns + costColumn(kind)];
  }
  Cost &cost(int32_t stage, ActionKind kind) {
    return costs[stage * numCostColumns + costColumn(kind)];
  }
  const Link &linkBetween(int32_t from, int32_t to) const;

  /// Writes the edges of a chain: stage s feeds s+1 by F (edge s) and s feeds
  /// s-1 by I (edge S-1 + s-1). The gradient message of stage s+1 to s has
  /// `outputBytes[s]`, as the activation of s has.
  void makeChain(const std::vector<int64_t> &outputBytes);
  /// Writes the edges of a graph: by `inputs`, for each stage, the stages that
  /// feed it, in the order in which it takes them. Each has an edge for F,
  /// stage after stage, and behind all of these, in the same order, its
  /// gradient's edge back.
  void makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                 const std::vector<int64_t> &outputBytes);

  /// Sets the F, I, W and B columns of a stage from the figures of
  /// rondo-problem/1. B takes I's and W's time and releases everything.
  void setStageCost(int32_t stage, int64_t forwardNs, int64_t inputGradNs,
                    int64_t weightGradNs, int64_t activationBytes,
                    int64_t inputGradFreesBytes);

  /// The edges are those of makeChain().
  bool isChain() const;

  /// What is wrong with the input, if anything: sizes out of range, a stage on
  /// no rank, negative costs, times that could sum to 2^60 ns, more
  /// released than taken.
  std::optional<Fault> check() const;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PROBLEM_H
