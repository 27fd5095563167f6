//===- device_stamps.h - Stamps that a GPU takes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stamp is a kernel of one thread, which a recorded iteration repeats without
// the host. It stands in front of a message in the message's own stream, so
// that none is taken too late, and holds it up by about a microsecond: so only
// the first message of each size in an iteration is stamped.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_DEVICE_STAMPS_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_DEVICE_STAMPS_H

#include "runtime/device/cuda/gpu.h"
#include "runtime/transport/cuda/device_memory.h"
#include "runtime/transport/stamps.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::runtime::cuda {

/// A stamp and what it is of: the bytes of a message, 0 for one of the start.
struct DeviceStamp {
  int64_t bytes;
  uint64_t at;
};

/// In the memory of the GPU that is current when it is made.
class DeviceStamps {
public:
  /// That are kept.
  static constexpr uint32_t most = 256;

  DeviceStamps();
  /// Takes one when the stream gets there.
  void stamp(cudaStream_t stream, int64_t bytes);
  /// Those since the last call, the latest `most` of them. The streams have
  /// done their work.
  std::vector<DeviceStamp> take(Gpu &gpu);
  /// Those so far are the first that the next call takes, however many come.
  void keep(Gpu &gpu) { kept = take(gpu); }

private:
  DeviceMemory memory;
  std::vector<DeviceStamp> kept;
  uint64_t taken = 0;
};

/// Which messages of an iteration are stamped. Both ends of a channel choose
/// the same.
class StampedSizes {
public:
  void beginIteration() { sizes.clear(); }
  /// Whether it is the first of its size. One without bytes never is: it moves
  /// nothing.
  bool isNew(int64_t bytes);
  /// Of this iteration so far.
  bool isEmpty() const { return sizes.empty(); }

private:
  std::vector<int64_t> sizes;
};

/// A GPU's clock beside that of the host, which is nowNs().
class GpuClock {
public:
  /// The GPU has nothing to do.
  void compare(Gpu &gpu);
  uint64_t toHost(uint64_t stamp) const { return map.toMine(stamp); }
  /// Of the last two comparisons, at most.
  double errorNs() const { return std::max(errors[0], errors[1]); }

private:
  ClockMap map;
  double errors[2] = {};
};

/// What a channel has measured.
class DeviceMeter {
public:
  /// At the start so many messages measure the latency.
  static constexpr int startMessages = 8;

  /// Stamps of the same messages, in ns of one clock.
  void add(const std::vector<DeviceStamp> &sent,
           const std::vector<DeviceStamp> &posted,
           const std::vector<DeviceStamp> &arrived);
  LinkFigures figures(int32_t from, int32_t to) const;

private:
  LinkMeter meter, start;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_DEVICE_STAMPS_H
