//===- SharedMemory.h - Arenas that several processes share -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H
#define RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H

#include "runtime/device/device.h"

#include <atomic>
#include <string>

namespace rondo::runtime::test {

/// Memory that process 0 makes and the others map, each at its own address.
/// Nothing is handed out twice, so late writes of an aborted transport touch no
/// later test.
class SharedMemory {
public:
  SharedMemory();
  /// Maps the memory of another process on this machine, by its name().
  explicit SharedMemory(const std::string &name);
  ~SharedMemory();

  std::string name() const;
  /// Whole pages, all 0.
  char *take(int64_t bytes);
  void giveBack(char *memory, int64_t bytes);

  /// Addresses in a form that all processes understand; null stays null.
  /// offsetOf() throws Error if an address is elsewhere.
  int64_t offsetOf(const void *address) const;
  char *at(int64_t offset) const;

private:
  void map();

  int file = -1;
  char *base = nullptr;
  std::atomic<int64_t> used{0};
};

/// A CPU whose arenas are in this memory.
std::unique_ptr<Device> makeSharedDevice(SharedMemory &memory);

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H
