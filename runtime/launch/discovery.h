//===- discovery.h - Who started this process, as which rank ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_DISCOVERY_H
#define RONDO_RUNTIME_LAUNCH_DISCOVERY_H

#include "runtime/launch/store.h"

#include <cstdlib>
#include <functional>
#include <optional>

namespace rondo::runtime {

/// Options about processes; -1 and empty: not given.
struct LaunchFlags {
  int32_t rank = -1, worldSize = -1, localRank = -1;
  /// host:port or file:///path.
  std::string rendezvous;
  /// The file with the run's secret.
  std::string secretFile;
};

/// The place of this process in a run.
struct Launch {
  /// The launcher's usual name: `torchrun`, `Open MPI`. Empty: nothing started
  /// several processes.
  std::string source;
  int32_t rank = 0, size = 1;
  /// Among the processes on this machine; localRank -1, localSize 0: unknown.
  int32_t localRank = -1, localSize = 0;
  /// Distinguishes the run from others on the same machines.
  std::string job;
  /// If absent, the processes have no address in common.
  std::optional<Rendezvous> rendezvous;
};

/// The value of an environment variable; null if it is not set.
using Environment = std::function<const char *(const char *)>;

/// Finds the first of these that started the process: flags, torchrun, Slurm,
/// Open MPI, MPICH or PMIx, nothing. Throws Error with Exit::Usage if values
/// contradict each other or are not numbers.
Launch discoverLaunch(const LaunchFlags &flags,
                      const Environment &environment = std::getenv);

/// The hosts of a Slurm host list: `a[1-3,07],b` is a1 a2 a3 a07 b. Throws
/// Error with Exit::Usage if the text is not a host list.
std::vector<std::string> expandHostList(const std::string &text);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_DISCOVERY_H
