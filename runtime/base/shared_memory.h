//===- shared_memory.h - Memory of processes on one host --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_SHARED_MEMORY_H
#define RONDO_RUNTIME_BASE_SHARED_MEMORY_H

#include <cstddef>
#include <string>

namespace rondo::runtime {

/// Memory that processes on one host share: an object in /dev/shm, which others
/// of the same user open by its name.
class SharedMemory {
public:
  /// Makes an object of zeros under a random name. Throws Error.
  explicit SharedMemory(size_t bytes);
  /// Opens the object of another process. Throws Error if this host does not
  /// have it, or has it in another size.
  SharedMemory(const std::string &name, size_t bytes);
  /// Unmaps it, and removes its name.
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  const std::string &name() const { return ownName; }
  void *data() const { return memory; }
  /// No other process can open it from here on; those that have it keep it.
  void removeName();

private:
  void map(int descriptor);

  const std::string ownName;
  const size_t bytes;
  void *memory = nullptr;
  bool isNamed = true;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_SHARED_MEMORY_H
