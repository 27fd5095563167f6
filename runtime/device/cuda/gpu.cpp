//===- gpu.cpp - One GPU of this process ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Size of one GPU's pinned memory: an iteration's data and its control headers
/// fit; larger transfers go through it in pieces.
static constexpr int64_t pinnedBytes = 8 << 20;

void rondo::runtime::cuda::setDefaults(bool mayUseNccl) {
  // Streams must not share a hardware queue: a waiting message would hold back
  // the one it waits for.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // Loading a kernel at its first launch may wait for all other kernels,
  // including one of NCCL that waits for a message that must come later. On one
  // GPU no kernel waits, and loading all of cuBLASLt takes seconds.
  if (mayUseNccl)
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // Recorded iterations never run at the same time. NCCL's manual warns of
  // hangs if it prepares for that.
  setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
  // No handshake between processes while an iteration is recorded.
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

bool rondo::runtime::cuda::mayUseSeveralGpus(int32_t ranks) {
  if (ranks < 2)
    return false;
  // The driver's list, a folder for each GPU; without it the number is unknown.
  std::error_code error;
  int64_t gpus = 0;
  for (std::filesystem::directory_iterator
           each("/proc/driver/nvidia/gpus", error),
       end;
       !error && each != end; each.increment(error))
    ++gpus;
  if (gpus > 0 && gpus < ranks)
    return false;
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return !visible ||
         std::count(visible, visible + std::strlen(visible), ',') + 1 >= ranks;
}

/// `12.8` for 12080.
static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

/// CUDA reports a missing driver as a driver that is too old.
static std::string whyNoGpu(cudaError_t error) {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "no NVIDIA driver or GPU found";
  (void)cudaRuntimeGetVersion(&runtime);
  return "no NVIDIA GPU can be used here" +
         (error == cudaSuccess
              ? std::string()
              : ": " + std::string(cudaGetErrorString(error))) +
         " (the driver is for CUDA " + versionText(driver) +
         ", this program for " + versionText(runtime) + ")";
}

int rondo::runtime::cuda::countGpus() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0)
    return count;
  // An old or missing driver counts as no device.
  if (error == cudaSuccess || error == cudaErrorNoDevice ||
      error == cudaErrorInsufficientDriver)
    throw Error(whyNoGpu(error), Exit::NoDevice);
  RONDO_CUDA(error);
  return 0;
}

/// Selects the GPU before its members are constructed.
static int selected(int ordinal) {
  RONDO_CUDA(cudaSetDevice(ordinal));
  return ordinal;
}

Gpu::Gpu(int ordinal)
    : ordinal(selected(ordinal)), owned(OwnedStream::Priority::Usual) {
  stream.handle = owned.get();
  RONDO_CUDA(cudaMallocHost(reinterpret_cast<void **>(&pinned), pinnedBytes));
}

Gpu::~Gpu() {
  cudaSetDevice(ordinal);
  cudaStreamSynchronize(stream.handle);
  cudaFreeHost(pinned);
}

namespace {

struct KnownGpus {
  std::mutex mutex;
  std::map<int, std::weak_ptr<Gpu>> gpus;
};

} // namespace

static KnownGpus &known() {
  static KnownGpus gpus;
  return gpus;
}

std::shared_ptr<Gpu> Gpu::get(int ordinal) {
  std::lock_guard<std::mutex> lock(known().mutex);
  std::weak_ptr<Gpu> &entry = known().gpus[ordinal];
  std::shared_ptr<Gpu> gpu = entry.lock();
  if (!gpu)
    entry = gpu = std::make_shared<Gpu>(ordinal);
  return gpu;
}

void Gpu::holdBackUntilWritten(cudaStream_t other) {
  std::lock_guard<std::mutex> lock(known().mutex);
  for (auto &[ordinal, entry] : known().gpus)
    if (std::shared_ptr<Gpu> gpu = entry.lock())
      gpu->holdBack(other);
}

bool Gpu::reach(int other) const {
  int isPossible = 0;
  select();
  RONDO_CUDA(cudaDeviceCanAccessPeer(&isPossible, ordinal, other));
  if (!isPossible)
    return false;
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error != cudaSuccess)
    // Else later calls would report it.
    (void)cudaGetLastError();
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

std::string Gpu::uuid() const {
  cudaDeviceProp properties{};
  RONDO_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  std::string text;
  for (size_t byte = 0; byte < sizeof properties.uuid.bytes; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10)
      text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x",
                  static_cast<unsigned char>(properties.uuid.bytes[byte]));
    text += digits;
  }
  return text;
}

std::string Gpu::lacks(int64_t bytes) const {
  size_t available = 0, total = 0;
  RONDO_CUDA(cudaMemGetInfo(&available, &total));
  return "GPU " + std::to_string(ordinal) + " cannot allocate an arena of " +
         std::to_string(bytes) + " bytes: " + std::to_string(available) +
         " of its " + std::to_string(total) +
         " bytes are free; other ranks and programs, the driver and loaded "
         "kernels have the rest. Take a schedule or micro-batches that need "
         "less memory";
}

/// Pinned memory that no transfer uses; `bytes` is reduced if less is free.
char *Gpu::reserve(int64_t &bytes) {
  if (used == pinnedBytes) {
    RONDO_CUDA(cudaStreamSynchronize(stream.handle));
    used = 0;
  }
  bytes = std::min(bytes, pinnedBytes - used);
  char *memory = pinned + used;
  used += bytes;
  return memory;
}

void Gpu::write(void *device, const void *host, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  select();
  auto *to = static_cast<char *>(device);
  auto *from = static_cast<const char *>(host);
  while (bytes > 0) {
    int64_t piece = bytes;
    char *staging = reserve(piece);
    std::memcpy(staging, from, static_cast<size_t>(piece));
    RONDO_CUDA(cudaMemcpyAsync(to, staging, static_cast<size_t>(piece),
                               cudaMemcpyHostToDevice, stream.handle));
    to += piece;
    from += piece;
    bytes -= piece;
  }
}

void Gpu::fill(void *device, uint8_t byte, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  select();
  if (bytes > 0)
    RONDO_CUDA(cudaMemsetAsync(device, byte, static_cast<size_t>(bytes),
                               stream.handle));
}

void Gpu::read(void *host, const void *device, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  select();
  auto *to = static_cast<char *>(host);
  auto *from = static_cast<const char *>(device);
  while (bytes > 0) {
    int64_t piece = bytes;
    char *staging = reserve(piece);
    RONDO_CUDA(cudaMemcpyAsync(staging, from, static_cast<size_t>(piece),
                               cudaMemcpyDeviceToHost, stream.handle));
    RONDO_CUDA(cudaStreamSynchronize(stream.handle));
    used = 0;
    std::memcpy(to, staging, static_cast<size_t>(piece));
    to += piece;
    from += piece;
    bytes -= piece;
  }
}

void Gpu::holdBack(cudaStream_t other) {
  std::lock_guard<std::mutex> lock(mutex);
  written.record(stream.handle);
  written.holdBack(other);
}
