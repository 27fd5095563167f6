//===- device.h - Where a rank's memory lies --------------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_DEVICE_DEVICE_H
#define RONDO_RUNTIME_DEVICE_DEVICE_H

#include <cstdint>
#include <memory>

namespace rondo::runtime {

/// One rank's memory: a single allocation, made at start and freed with the
/// object. Addresses are the device's; only read() and write() may be used on
/// them by the host.
class Arena {
public:
  virtual ~Arena();
  /// Aligned to bufferAlignment; null where bytes() is 0.
  virtual char *base() const = 0;
  /// Exactly what was asked for.
  virtual int64_t bytes() const = 0;
  /// Copies to and from the host. The ranges lie inside the arena.
  virtual void read(void *host, const void *device, int64_t bytes) const = 0;
  virtual void write(void *device, const void *host, int64_t bytes) = 0;
  virtual void fill(void *device, uint8_t byte, int64_t bytes) = 0;
};

/// Memory of this process, all 0. Throws Error where the system has not that
/// much.
std::unique_ptr<Arena> makeCpuArena(int64_t bytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_DEVICE_H
