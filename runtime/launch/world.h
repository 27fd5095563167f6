//===- world.h - The processes of a run and what they are doing -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_WORLD_H
#define RONDO_RUNTIME_LAUNCH_WORLD_H

#include "runtime/base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::runtime {

class Store;

/// The processes of a run. A single process runs all ranks of a program, each
/// in a thread; otherwise process p runs rank p.
struct World {
  int32_t process = 0, processes = 1;
  /// Among the processes on this machine; localProcess -1: unknown.
  int32_t localProcess = 0, localProcesses = 1;
  /// The launcher's name, for messages.
  std::string startedBy;
  /// Connects the processes; null if there is only one.
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

/// The name that this machine gives itself.
std::string thisHost();

/// The parts of a run in which processes wait for each other.
enum class Phase : uint8_t {
  /// Finds process 0.
  Join,
  /// Opens the data.
  Data,
  /// Makes the connections that carry messages.
  Connect,
  /// Compares clocks with its peers.
  Meet,
  Iterate,
  /// Brings together what channels have measured.
  TakeTransfers,
  /// Changes the schedule.
  Switch,
  Save,
  /// Brings tensors to process 0.
  Gather,
  Leave,
};

/// As errors and --inject-fault write it: `take transfers`.
const char *nameOf(Phase phase);
std::optional<Phase> phaseNamed(const std::string &name);

/// Reports to the store, if there is one, that this process enters a phase.
void enter(const World &world, Phase phase);

/// `rank 3`, or `ranks 1, 2, 4 and 5 more`.
std::string ranksText(const std::vector<int32_t> &ranks);

/// A phase whose duration depends on the disk, such as saving. Processes that
/// are done wait in an exchange with Patience::WhileReported: the time-out
/// counts from the last progress() of the others, not from the start of the
/// phase.
class DiskPhase {
public:
  /// `what` the process does, after its rank: `writes its checkpoint`.
  DiskPhase(const World &world, std::string what)
      : world(world), what(std::move(what)) {
    progress();
  }

  /// Call it after each part of the work that ends in bounded time. Throws as
  /// Store::check() does.
  void progress();

private:
  const World &world;
  const std::string what;
  int64_t steps = 0, lastNs = INT64_MIN / 2;
};

//===----------------------------------------------------------------------===//
// Messages to the user.
//===----------------------------------------------------------------------===//

/// Writes an error to standard error, and to the file from which torchrun
/// reads the reason of a failure.
void sayError(const std::string &message);

/// Writes a note to standard error.
void sayNote(const std::string &message);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_WORLD_H
