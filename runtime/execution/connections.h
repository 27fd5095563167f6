//===- connections.h - The connections of an executable's ranks -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_CONNECTIONS_H
#define RONDO_RUNTIME_EXECUTION_CONNECTIONS_H

#include "runtime/base/clock.h"
#include "runtime/execution/action_ring.h"
#include "runtime/execution/fault.h"
#include "runtime/execution/state.h"
#include "runtime/optimizer/rule.h"
#include "runtime/transport/transport.h"

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// The channels and collectives that a program needs, as it numbers them, and
/// their numbers in the transport that all programs share.
struct Wiring {
  std::vector<ChannelParams> channels;
  /// A norm that is awaited `delay` iterations later is in flight for as many
  /// iterations at once, and has as many entries, one after another.
  std::vector<CollectiveParams> collectives;
  /// Indexed by collective of the program: its first entry.
  std::vector<int32_t> firstEntry;
  /// Indexed by entry: a number that distinguishes the collectives that move
  /// the state of a group, since their parts have no address; -1: it moves
  /// none.
  std::vector<int32_t> moves;
  /// Indexed by entry: whether it is a norm, of which only the total is needed.
  std::vector<bool> areTotals;
  /// Indexed by rank.
  std::vector<StagingParams> staging;
  /// [from * ranks + to]; -1: no messages.
  std::vector<int32_t> channelOf;
  /// Indexed by channel and by entry: the transport's number.
  std::vector<int32_t> channelNumbers, collectiveNumbers;
};
/// Channels for the messages of all edges between different ranks, and the
/// parts of collectives; without the transport's numbers. Throws Error if a
/// collective names a tensor that its stages do not have.
Wiring wire(const State &state, const ProgramDesc &program);

/// The largest number of micro-batches that may be in flight on an edge.
int64_t maxAtOnce(const ProgramDesc &program);

/// Constants of a run that the optimizer and its clipping use.
struct OptimizerConfig {
  UpdateRule rule;
  /// Largest norm of the gradients, of all or of a stage; 0: no limit.
  double maxNorm = 1;
  /// Steps over which the learning rates of stages that read old weights rise
  /// to the common one; 0: they have it from the start. Only if iterations
  /// overlap.
  int64_t delayAnneal = 0;
  /// Base of the decay; see changeDecay().
  double extrapolationDecay = 0.1353352832366127;
};

class ProgramRun;
class HostLinks;

struct ProgramOptions {
  /// Empty: links are as they are.
  LinkImposer imposeLinks;
  /// Whether copies to the host take as long as the plan's host links say.
  bool imposesHostLinks = false;
  /// Whether messages carry checksums.
  bool checksMessages = false;
  /// For tests.
  Fault fault;
  OptimizerConfig optimizer;
  /// The run fails if for timeoutSeconds no rank starts an action and no device
  /// finishes a message.
  TransportOptions transport;
  /// The clock for timeoutSeconds; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
  /// Is told that a run has failed, before its ranks are stopped, so that it
  /// sees what each of them does and waits for: in which rank, -1 if no
  /// rank has thrown, and what. Returns what else to do once they are.
  std::function<std::function<void()>(const ProgramRun &run, int32_t rank,
                                      const std::exception_ptr &why)>
      failed;
};

/// The channels and collectives of all programs that the processes of a run can
/// run, connected once. Switching programs connects nothing.
class Connections {
public:
  /// All processes construct it at the same time. Throws Error. The state must
  /// outlive it.
  Connections(State &state, const ProgramOptions &options);

  State &state() const { return replica; }
  const ProgramOptions options;
  /// The wiring of a program, with the transport's numbers. Throws Error if the
  /// processes of this run cannot run the program.
  const Wiring &wiringFor(const ProgramDesc &program) const;
  Transport &transport() const { return *all; }
  /// The links that copies to the host use; null: they need none.
  HostLinks *hostLinks() const { return linksToHost.get(); }
  /// The ring of a rank of this process, shared by all programs.
  ActionRing &ring(int32_t rank) { return rings[rank]; }
  /// Null unless the rank has a fault.
  FaultPoint *faultOf(int32_t rank) {
    return rank == options.fault.rank ? &fault : nullptr;
  }
  /// As the transport numbers them.
  const std::vector<ChannelParams> &channels() const { return allChannels; }

private:
  void add(const ProgramDesc &program, TransportParams &params);

  State &replica;
  /// Indexed by program id.
  std::vector<Wiring> wirings;
  std::vector<ChannelParams> allChannels;
  /// Indexed by rank.
  std::deque<ActionRing> rings;
  FaultPoint fault;
  /// Wiring::moves of all collectives.
  std::vector<int32_t> allMoves;
  std::unique_ptr<Transport> all;
  std::shared_ptr<HostLinks> linksToHost;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_CONNECTIONS_H
