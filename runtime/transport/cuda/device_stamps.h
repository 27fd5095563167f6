//===- device_stamps.h - Time stamps taken by a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stamp is a kernel of one thread, which a recorded iteration repeats without
// the host. It comes before a message in the message's own stream, so that it
// is never taken too late, and delays it by about a microsecond: so only the
// first message of each size in an iteration is stamped.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_DEVICE_STAMPS_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_DEVICE_STAMPS_H

#include "runtime/base/cuda/stream.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/transport/links.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::runtime::cuda {

/// A stamp and what it belongs to: the bytes of a message, 0 for one at the
/// start.
struct DeviceStamp {
  int64_t bytes;
  uint64_t at;
};

/// Kept in the memory of the GPU that is current when it is made.
class DeviceStamps {
public:
  /// The number of stamps kept.
  static constexpr uint32_t most = 256;

  DeviceStamps();
  /// Takes one when the stream gets there.
  void stamp(cudaStream_t stream, int64_t bytes);
  /// The stamps since the last call, the latest `most` of them. The streams
  /// must have done their work.
  std::vector<DeviceStamp> take(Gpu &gpu);
  /// The stamps so far are the first that the next call takes, however many
  /// follow.
  void keep(Gpu &gpu) { kept = take(gpu); }

private:
  DeviceMemory memory;
  std::vector<DeviceStamp> kept;
  uint64_t taken = 0;
};

/// Selects the messages of an iteration that are stamped. Both ends of a
/// channel select the same.
class StampedSizes {
public:
  void beginIteration() { sizes.clear(); }
  /// Whether it is the first of its size. An empty message never is: it moves
  /// nothing.
  bool isNew(int64_t bytes);
  /// In this iteration so far.
  bool isEmpty() const { return sizes.empty(); }

private:
  std::vector<int64_t> sizes;
};

/// Relates a GPU's clock to the host's, which is nowNs().
class GpuClock {
public:
  /// The GPU must be idle.
  void compare(Gpu &gpu);
  uint64_t toHost(uint64_t stamp) const { return map.toMine(stamp); }
  /// Upper bound over the last two comparisons.
  double errorNs() const { return std::max(errors[0], errors[1]); }

private:
  ClockMap map;
  double errors[2] = {};
};

/// A channel's measurements.
class DeviceMeter {
public:
  /// The number of messages that measure the latency at the start.
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
