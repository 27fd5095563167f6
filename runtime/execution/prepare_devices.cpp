//===- prepare_devices.cpp - Devices get ready before ranks connect -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

using namespace rondo::runtime;

void State::prepareDevices() {
  std::vector<bool> isUsed(arenas.size());
  for (const std::vector<ReplicaBinding> &size : bindings)
    for (const ReplicaBinding &binding : size) {
      const int32_t rank = binding.replica->rank;
      if (!processes.holds(rank))
        continue;
      for (const LayerBinding &layer : binding.layers)
        if (devices[rank]->prepare(*layer.desc, *arenas[rank]))
          isUsed[rank] = true;
    }
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    if (isUsed[rank])
      arenas[rank]->fill(arenas[rank]->base(), 0, arenas[rank]->bytes());
}
