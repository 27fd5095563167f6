//===- HostArena.h - The host arenas of a program ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_HOSTARENA_H
#define RONDO_TOOLS_DRIVER_HOSTARENA_H

#include "dialect/Pipe.h"
#include "reports/Figures.h"

namespace rondo::driver {

/// `, host arena 1.5 MiB of 4 MiB (rank 0)`; empty if the program copies
/// nothing to the host.
inline std::string hostArenaText(pipe::ProgramOp program) {
  auto arena = program.getHostArena();
  if (!arena)
    return "";
  std::vector<int64_t> caps;
  for (pipe::DeviceOp device :
       program.lookupPlan().lookupCluster().getDevices())
    caps.push_back(device.getHostMemoryBytes());
  return ", host arena " + fullestArena(*arena, caps);
}

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_HOSTARENA_H
