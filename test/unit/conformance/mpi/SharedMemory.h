//===- SharedMemory.h - Arenas that several processes see -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H
#define RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H

#include "runtime/device/device.h"

#include <atomic>
#include <string>

namespace rondo::runtime::test {

/// Memory that process 0 makes and the others map, each at an address of its
/// own. Nothing is handed out twice: what a transport that was aborted still
/// writes touches no later test.
class SharedMemory {
public:
  SharedMemory();
  /// That of another process of this machine, by its name().
  explicit SharedMemory(const std::string &name);
  ~SharedMemory();

  std::string name() const;
  /// Whole pages, all 0.
  char *take(int64_t bytes);
  void giveBack(char *memory, int64_t bytes);

  /// Addresses as all processes understand them; no address stays none. Throws
  /// Error where an address lies elsewhere.
  int64_t offsetOf(const void *address) const;
  char *at(int64_t offset) const;

private:
  void map();

  int file = -1;
  char *base = nullptr;
  std::atomic<int64_t> used{0};
};

/// A CPU whose arenas lie there.
std::unique_ptr<Device> makeSharedDevice(SharedMemory &memory);

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_MPI_SHAREDMEMORY_H
