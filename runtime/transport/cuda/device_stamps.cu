//===- device_stamps.cu - Time stamps taken by a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/device_stamps.h"

#include "runtime/base/clock.h"
#include "runtime/base/cuda/thread.h"

#include <algorithm>
#include <utility>

namespace rondo::runtime::cuda {

namespace {

struct Ring {
  uint64_t count;
  DeviceStamp stamps[DeviceStamps::most];
};

__global__ void stampKernel(Ring *ring, int64_t bytes) {
  if (threadIdx.x != 0)
    return;
  const uint64_t number = ring->count;
  ring->stamps[number % DeviceStamps::most] = {
      bytes, static_cast<uint64_t>(deviceNs())};
  ring->count = number + 1;
}

__global__ void showKernel(volatile uint64_t *shown) {
  if (threadIdx.x == 0)
    *shown = static_cast<uint64_t>(deviceNs());
}

} // namespace

DeviceStamps::DeviceStamps() : memory(sizeof(Ring)) {
  RONDO_CUDA(cudaMemset(memory.get(), 0, sizeof(Ring)));
  // Streams that take stamps do not wait for the one that clears them.
  RONDO_CUDA(cudaStreamSynchronize(nullptr));
}

void DeviceStamps::stamp(cudaStream_t stream, int64_t bytes) {
  launch({stream, nullptr}, stampKernel, dim3(1), dim3(32), 0,
         reinterpret_cast<Ring *>(memory.get()), bytes);
}

std::vector<DeviceStamp> DeviceStamps::take(Gpu &gpu) {
  Ring ring;
  gpu.read(&ring, memory.get(), sizeof ring);
  std::vector<DeviceStamp> latest = std::exchange(kept, {});
  for (uint64_t n =
           std::max(taken, ring.count - std::min<uint64_t>(ring.count, most));
       n < ring.count; ++n)
    latest.push_back(ring.stamps[n % most]);
  taken = ring.count;
  return latest;
}

bool StampedSizes::isNew(int64_t bytes) {
  if (bytes <= 0 || std::find(sizes.begin(), sizes.end(), bytes) != sizes.end())
    return false;
  sizes.push_back(bytes);
  return true;
}

void GpuClock::compare(Gpu &gpu) {
  gpu.select();
  uint64_t *shown = nullptr;
  RONDO_CUDA(
      cudaMallocHost(reinterpret_cast<void **>(&shown), sizeof(uint64_t)));
  std::vector<RoundTrip> trips(16);
  try {
    for (RoundTrip &trip : trips) {
      trip.sent = static_cast<uint64_t>(nowNs());
      launch(gpu.transfers(), showKernel, dim3(1), dim3(32), 0, shown);
      RONDO_CUDA(cudaStreamSynchronize(gpu.transfers().handle));
      trip.answered = static_cast<uint64_t>(nowNs());
      trip.theirs = *static_cast<volatile uint64_t *>(shown);
    }
  } catch (...) {
    cudaFreeHost(shown);
    throw;
  }
  cudaFreeHost(shown);
  map.add(compareClocks(trips));
  uint64_t shortest = UINT64_MAX;
  for (const RoundTrip &trip : trips)
    shortest = std::min(shortest, trip.answered - trip.sent);
  errors[0] = errors[1];
  errors[1] = 0.5 * static_cast<double>(shortest);
}

void DeviceMeter::add(const std::vector<DeviceStamp> &sent,
                      const std::vector<DeviceStamp> &posted,
                      const std::vector<DeviceStamp> &arrived) {
  const size_t count = std::min({sent.size(), posted.size(), arrived.size()});
  std::vector<Stamps> left[2], came[2];
  for (size_t i = 0; i < count; ++i) {
    const int isOfStart = arrived[i].bytes == 0;
    left[isOfStart].push_back({sent[i].bytes, sent[i].at, 0, 0});
    came[isOfStart].push_back(
        {arrived[i].bytes, posted[i].at, arrived[i].at, 0});
  }
  addTransfers(meter, left[0], came[0], {}, 1);
  addTransfers(start, left[1], came[1], {}, 1);
}

LinkFigures DeviceMeter::figures(int32_t from, int32_t to) const {
  const std::vector<LinkPoint> ofStart = start.sizes();
  LinkFigures figures =
      fitLink(meter.sizes(), 1,
              ofStart.empty() ? 0 : static_cast<double>(ofStart[0].least));
  figures.from = from;
  figures.to = to;
  return figures;
}

} // namespace rondo::runtime::cuda
