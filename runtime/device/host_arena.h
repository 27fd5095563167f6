//===- host_arena.h - Arenas in memory of the host --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_HOST_ARENA_H
#define RONDO_RUNTIME_DEVICE_HOST_ARENA_H

#include "runtime/device/device.h"

#include <cstring>

namespace rondo::runtime {

/// An arena whose memory the host can use; a derived class allocates it. An
/// arena of 0 bytes has a null address, which memcpy() and memset() must not
/// get.
class HostArena : public Arena {
public:
  char *base() const override { return memory; }
  int64_t bytes() const override { return size; }
  void read(void *host, const void *device, int64_t bytes) const override {
    if (bytes > 0)
      std::memcpy(host, device, static_cast<size_t>(bytes));
  }
  void write(void *device, const void *host, int64_t bytes) override {
    if (bytes > 0)
      std::memcpy(device, host, static_cast<size_t>(bytes));
  }
  void fill(void *device, uint8_t byte, int64_t bytes) override {
    if (bytes > 0)
      std::memset(device, byte, static_cast<size_t>(bytes));
  }

protected:
  explicit HostArena(int64_t bytes) : size(bytes) {}

  char *memory = nullptr;

private:
  const int64_t size;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_HOST_ARENA_H
