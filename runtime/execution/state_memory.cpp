//===- state_memory.cpp - What the state takes of devices -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include <map>

using namespace rondo::runtime;

int64_t State::allocatedBytes() const {
  int64_t bytes = 0;
  for (const std::unique_ptr<Arena> &arena : arenas)
    bytes += arena ? arena->bytes() : 0;
  return bytes;
}

int64_t State::bytesInUse() const {
  std::map<int, int64_t> byPlace;
  for (const std::unique_ptr<Device> &device : devices)
    if (device)
      byPlace[device->place()] = device->bytesInUse();
  int64_t bytes = byPlace.empty() ? -1 : 0;
  for (const auto &[place, inUse] : byPlace) {
    if (inUse < 0)
      return -1;
    bytes += inUse;
  }
  return bytes;
}
