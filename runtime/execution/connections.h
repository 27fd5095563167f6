//===- connections.h - The connections of an executable's ranks -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_CONNECTIONS_H
#define RONDO_RUNTIME_EXECUTION_CONNECTIONS_H

#include "runtime/base/clock.h"
#include "runtime/execution/rank.h"
#include "runtime/transport/view.h"

#include <memory>
#include <vector>

namespace rondo::runtime {

struct ProgramOptions {
  ImposedLink link;
  std::shared_ptr<const LinkTrace> linkTrace;
  OptimizerConfig optimizer;
  /// The run fails if for timeoutSeconds no rank starts an action and no device
  /// finishes a message.
  TransportOptions transport;
  /// The clock for timeoutSeconds; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
};

/// The channels and collectives of all programs that the processes of a run can
/// run, connected once. Switching programs connects nothing.
class Connections {
public:
  /// All processes construct it at the same time. Throws Error. The state must
  /// outlive it.
  Connections(State &state, const ProgramOptions &options);

  State &state() const { return home; }
  const ProgramOptions options;
  const Wiring &wiring(const ProgramDesc &program) const {
    return wirings[program.id];
  }
  /// A program's view of the connections. Throws Error if the processes of this
  /// run cannot run the program.
  std::unique_ptr<Transport> view(const ProgramDesc &program) const;
  Transport &transport() const { return *all; }
  /// As the transport numbers them.
  const std::vector<ChannelParams> &channels() const { return allChannels; }

private:
  void add(const ProgramDesc &program, TransportParams &params);

  State &home;
  /// By program id.
  std::vector<Wiring> wirings;
  std::vector<ViewParams> views;
  std::vector<ChannelParams> allChannels;
  /// Of all collectives: Wiring::moves.
  std::vector<int32_t> allMoves;
  std::unique_ptr<Transport> all;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_CONNECTIONS_H
