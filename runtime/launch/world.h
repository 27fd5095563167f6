//===- world.h - Which process of a run this is -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_WORLD_H
#define RONDO_RUNTIME_LAUNCH_WORLD_H

#include "runtime/base/error.h"

#include <cstdint>
#include <string>

namespace rondo::runtime {

class Store;

/// The processes of a run. A single process runs all ranks of a program, each
/// in a thread; otherwise process p runs rank p.
struct World {
  int32_t process = 0, processes = 1;
  /// Among the processes on this machine; localProcess -1: unknown.
  int32_t localProcess = 0, localProcesses = 1;
  /// What started the processes, for messages.
  std::string startedBy;
  /// What connects the processes; null if there is only one.
  Store *store = nullptr;

  bool isAlone() const { return processes == 1; }
  /// The process that prints, and that reads and writes files.
  bool isFirst() const { return process == 0; }
  bool holds(int32_t rank) const { return isAlone() || rank == process; }
};

/// For errors that all processes detect at the same time: process 0 throws the
/// error, the others PeerFailed.
[[noreturn]] inline void throwInAll(const World &world, const Error &error) {
  if (world.isFirst())
    throw error;
  throw PeerFailed{error.code};
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_WORLD_H
