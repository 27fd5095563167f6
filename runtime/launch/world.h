//===- world.h - Which of a run's processes this is -------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_LAUNCH_WORLD_H
#define RONDO_RUNTIME_LAUNCH_WORLD_H

#include <cstdint>

namespace rondo::runtime {

class Store;

/// The processes of a run. A process alone runs all ranks of a plan, each in a
/// thread; otherwise process p runs rank p.
struct World {
  int32_t process = 0, processes = 1;
  /// Among the processes of this machine.
  int32_t localProcess = 0, localProcesses = 1;
  /// What connects the processes; null where there is one.
  Store *store = nullptr;

  bool isAlone() const { return processes == 1; }
  /// The process that prints, and that reads and writes files.
  bool isFirst() const { return process == 0; }
  bool holds(int32_t rank) const { return isAlone() || rank == process; }
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_WORLD_H
