//===- connections.h - What connects the ranks of an executable -*- C++ -*-===//
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
  OptimizerConfig optimizer;
  /// The run fails where no rank begins an action, and no device ends a
  /// message, for timeoutSeconds.
  TransportOptions transport;
  /// What timeoutSeconds is measured by; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
};

/// The channels and collectives of all programs that the processes of a run can
/// run, connected once. Going from one program to another connects nothing.
class Connections {
public:
  /// All processes make them at the same time. Throws Error. The state outlives
  /// them.
  Connections(State &state, const ProgramOptions &options);

  State &state() const { return home; }
  const ProgramOptions options;
  const Wiring &wiring(const ProgramDesc &program) const {
    return wirings[program.id];
  }
  /// What a program sees of them; throws Error where the processes of this run
  /// cannot run it.
  std::unique_ptr<Transport> view(const ProgramDesc &program) const;
  Transport &transport() const { return *all; }

private:
  void add(const ProgramDesc &program, TransportParams &params);

  State &home;
  /// By number of the program.
  std::vector<Wiring> wirings;
  std::vector<ViewParams> views;
  std::unique_ptr<Transport> all;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_CONNECTIONS_H
