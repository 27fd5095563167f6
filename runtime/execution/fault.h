//===- fault.h - A fault at one action of a run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests: bench/faults.py fails the machine, the network or the disk at each
// action of a run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_FAULT_H
#define RONDO_RUNTIME_EXECUTION_FAULT_H

#include "runtime/launch/world.h"
#include "runtime/transport/transport.h"

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::runtime {

struct Fault {
  enum class Kind : uint8_t {
    None,
    /// The process is killed.
    Kill,
    /// The process is stopped (SIGSTOP).
    Stop,
    /// The rank does nothing for `ms`.
    Delay,
    /// From then on no file of the process can grow.
    Disk,
    /// All its connections to other processes are shut down.
    Socket,
    /// The rank's next message to another rank has a wrong bit.
    Byte,
  };
  Kind kind = Kind::None;
  int64_t ms = 0;
  int32_t rank = -1;
  /// When the rank begins this action of the run, from 1.
  uint64_t action = 0;
  /// In place of an action: when the rank's process first enters the phase.
  std::optional<Phase> phase;
};

/// `kill:RANK:ACTION`, `delay=1000:RANK:ACTION`, `stop:RANK:PHASE`. Throws
/// Error with Exit::Usage.
Fault parseFault(const std::string &text);

/// Called when the process enters a phase: injects the fault if it is for this
/// phase.
void strikeAt(const Fault &fault, Phase phase);

/// Counts a rank's actions up to its fault.
class FaultPoint {
public:
  explicit FaultPoint(const Fault &fault) : fault(fault) {}
  /// An action begins.
  void pass(Transport &transport) {
    if (++begun == fault.action)
      strike(transport);
  }

private:
  void strike(Transport &transport) const;

  const Fault fault;
  uint64_t begun = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_FAULT_H
