//===- runtime.cpp - Errors and limits of the emulated devices ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emulation.h"
#include "engine.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

using emulation::Engine;

namespace {

/// Limits per block on the smallest device that we compile for, sm_80.
constexpr size_t maxShared = 163 << 10;
constexpr size_t defaultShared = 48 << 10;

std::mutex limitsMutex;
/// Key: kernel and device.
std::map<std::pair<const void *, int>, size_t> limits;
int numSettings = 0;

} // namespace

cudaError_t cudaFuncSetAttribute(const void *kernel,
                                 cudaFuncAttribute attribute, int bytes) {
  RONDO_EMULATED(cudaFuncSetAttribute);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    return cudaSuccess;
  if (bytes < 0 || static_cast<size_t>(bytes) > maxShared)
    return emulation::remember(cudaErrorInvalidValue);
  int device = 0;
  cudaGetDevice(&device);
  std::lock_guard<std::mutex> lock(limitsMutex);
  limits[{kernel, device}] = static_cast<size_t>(bytes);
  ++numSettings;
  return cudaSuccess;
}

int emulation::sharedSettings() {
  std::lock_guard<std::mutex> lock(limitsMutex);
  return std::exchange(numSettings, 0);
}

/// Unless all kernels are loaded at start, the first launch of each may wait
/// for all work of its GPU.
static void load(const void *kernel) {
  static std::set<std::pair<int, const void *>> loaded;
  const char *mode = std::getenv("CUDA_MODULE_LOADING");
  if (mode && std::strcmp(mode, "EAGER") == 0)
    return;
  int device = 0;
  cudaGetDevice(&device);
  Engine &engine = Engine::get();
  std::unique_lock<std::mutex> lock(engine.mutex);
  if (loaded.insert({device, kernel}).second)
    engine.runAll(lock, device);
}

cudaError_t emulation::checkLaunch(const void *kernel, dim3 grid, dim3 block,
                                   size_t sharedBytes, cudaStream_t stream) {
  int device = 0;
  cudaGetDevice(&device);
  if (stream && stream->queue->device != device)
    return emulation::remember(cudaErrorInvalidResourceHandle);
  load(kernel);
  size_t limit = defaultShared;
  {
    std::lock_guard<std::mutex> lock(limitsMutex);
    auto found = limits.find({kernel, device});
    if (found != limits.end())
      limit = std::max(limit, std::min(found->second, maxShared));
  }
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu &&
              grid.y <= 65535 && grid.z <= 65535 && threads > 0 &&
              threads <= 1024 && sharedBytes <= limit;
  return fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

const char *cudaGetErrorName(cudaError_t error) {
#define RONDO_NAME(name)                                                       \
  case name:                                                                   \
    return #name
  switch (error) {
    RONDO_NAME(cudaSuccess);
    RONDO_NAME(cudaErrorInvalidValue);
    RONDO_NAME(cudaErrorMemoryAllocation);
    RONDO_NAME(cudaErrorInvalidConfiguration);
    RONDO_NAME(cudaErrorInsufficientDriver);
    RONDO_NAME(cudaErrorNoDevice);
    RONDO_NAME(cudaErrorInvalidDevice);
    RONDO_NAME(cudaErrorInvalidResourceHandle);
    RONDO_NAME(cudaErrorNotReady);
    RONDO_NAME(cudaErrorIllegalAddress);
    RONDO_NAME(cudaErrorPeerAccessAlreadyEnabled);
    RONDO_NAME(cudaErrorStreamCaptureUnsupported);
    RONDO_NAME(cudaErrorStreamCaptureInvalidated);
    RONDO_NAME(cudaErrorStreamCaptureMerge);
    RONDO_NAME(cudaErrorStreamCaptureUnmatched);
    RONDO_NAME(cudaErrorStreamCaptureUnjoined);
    RONDO_NAME(cudaErrorStreamCaptureIsolation);
    RONDO_NAME(cudaErrorCapturedEvent);
    RONDO_NAME(cudaErrorStreamCaptureWrongThread);
  }
#undef RONDO_NAME
  return "unknown error";
}
const char *cudaGetErrorString(cudaError_t error) {
  return cudaGetErrorName(error);
}

static thread_local cudaError_t lastError = cudaSuccess;
cudaError_t emulation::remember(cudaError_t error) {
  if (error != cudaSuccess)
    lastError = error;
  return error;
}
cudaError_t cudaGetLastError() { return std::exchange(lastError, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return lastError; }

//===----------------------------------------------------------------------===//
// Devices.
//===----------------------------------------------------------------------===//

/// RONDO_EMULATED_GPUS is the number of GPUs that a program has.
static int firstDevices() {
  const char *text = std::getenv("RONDO_EMULATED_GPUS");
  return text ? std::atoi(text) : 1;
}

static std::atomic<int> numDevices{firstDevices()}, devicesError{0};
static thread_local int currentDevice = 0;

void emulation::setDevices(int count, int error) {
  numDevices = count;
  devicesError = error;
}

cudaError_t cudaDriverGetVersion(int *version) {
  RONDO_EMULATED(cudaDriverGetVersion);
  *version = devicesError == cudaErrorInsufficientDriver ? 0 : 12080;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  RONDO_EMULATED(cudaRuntimeGetVersion);
  *version = 12080;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  RONDO_EMULATED(cudaGetDeviceCount);
  *count = numDevices;
  return static_cast<cudaError_t>(devicesError.load());
}
cudaError_t cudaGetDevice(int *device) {
  RONDO_EMULATED(cudaGetDevice);
  *device = currentDevice;
  return cudaSuccess;
}
static std::atomic<bool> hasPeerAccess{true};
static std::atomic<int> refusedPeer{-1};

void emulation::setPeerAccess(bool is, int refused) {
  hasPeerAccess = is;
  refusedPeer = refused;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
  RONDO_EMULATED(cudaDeviceCanAccessPeer);
  *can = hasPeerAccess;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (peer == refusedPeer)
    return emulation::remember(cudaErrorInvalidDevice);
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;
  std::lock_guard<std::mutex> lock(mutex);
  if (!enabled.insert({currentDevice, peer}).second)
    return emulation::remember(cudaErrorPeerAccessAlreadyEnabled);
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  RONDO_EMULATED(cudaSetDevice);
  if (device < 0 || device >= numDevices)
    return emulation::remember(cudaErrorInvalidDevice);
  currentDevice = device;
  return cudaSuccess;
}
/// RONDO_EMULATED_GPU_NAME names all of them. Of the UUID only the last byte
/// differs, RONDO_EMULATED_GPU's number more than the ordinal, for processes
/// that see one GPU or one instance each.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  RONDO_EMULATED(cudaGetDeviceProperties);
  *properties = {};
  const char *first = std::getenv("RONDO_EMULATED_GPU");
  properties->uuid.bytes[15] =
      static_cast<char>((first ? std::atoi(first) : 0) + device);
  const char *text = std::getenv("RONDO_EMULATED_GPU_NAME");
  std::snprintf(properties->name, sizeof properties->name, "%s",
                text ? text : "Emulated GPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *value = 4;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = 9;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *value = 0;
    break;
  case cudaDevAttrHostNumaId:
    *value = 0;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = static_cast<int>(maxShared);
    break;
  }
  return cudaSuccess;
}
