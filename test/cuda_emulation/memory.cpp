//===- memory.cpp - Memory of the emulated devices and of the host --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emulation.h"
#include "engine.h"

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <sys/mman.h>

using emulation::Engine;

namespace {

/// Sizes of allocations that the host must not touch, by address.
std::mutex guardMutex;
std::map<void *, size_t> guarded;
int guards = 0, accesses = 0;
/// Sizes of all allocations by address, and their sum.
std::map<void *, size_t> sizes;
size_t used = 0;
/// Sizes of pinned memory of the host by address.
std::map<const void *, size_t> pinned;

bool isPinned(const void *memory, size_t bytes) {
  std::lock_guard<std::mutex> lock(guardMutex);
  auto after = pinned.upper_bound(memory);
  if (after == pinned.begin())
    return false;
  const auto &[first, size] = *std::prev(after);
  const auto *begin = static_cast<const char *>(first),
             *at = static_cast<const char *>(memory);
  return at + bytes <= begin + size;
}

/// Memory of the device in bytes: the environment's RONDO_EMULATED_MEMORY, or
/// 64 GiB.
size_t memoryBytes() {
  const char *text = std::getenv("RONDO_EMULATED_MEMORY");
  return text ? std::strtoull(text, nullptr, 10) : size_t(64) << 30;
}

void protect(int protection) {
  for (auto [memory, bytes] : guarded)
    mprotect(memory, bytes, protection);
}

} // namespace

emulation::GuardedMemory::GuardedMemory() {
  std::lock_guard<std::mutex> lock(guardMutex);
  ++guards;
}
emulation::GuardedMemory::~GuardedMemory() {
  std::lock_guard<std::mutex> lock(guardMutex);
  if (--guards == 0)
    protect(PROT_READ | PROT_WRITE);
}
emulation::MemoryAccess::MemoryAccess() {
  std::lock_guard<std::mutex> lock(guardMutex);
  if (accesses++ == 0 && guards > 0)
    protect(PROT_READ | PROT_WRITE);
}
emulation::MemoryAccess::~MemoryAccess() {
  std::lock_guard<std::mutex> lock(guardMutex);
  if (--accesses == 0 && guards > 0)
    protect(PROT_NONE);
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  RONDO_EMULATED(cudaMalloc);
  {
    Engine &engine = Engine::get();
    std::lock_guard<std::mutex> lock(engine.mutex);
    if (auto capture = engine.captureOfThread()) {
      capture->isValid = false;
      return emulation::remember(cudaErrorStreamCaptureUnsupported);
    }
  }
  std::lock_guard<std::mutex> lock(guardMutex);
  *memory = nullptr;
  if (bytes == 0)
    return cudaSuccess;
  if (bytes > memoryBytes() - used)
    return emulation::remember(cudaErrorMemoryAllocation);
  if (guards == 0) {
    if (posix_memalign(memory, 256, bytes) != 0)
      return emulation::remember(cudaErrorMemoryAllocation);
    used += sizes[*memory] = bytes;
    return cudaSuccess;
  }
  void *pages =
      mmap(nullptr, bytes, accesses > 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return emulation::remember(cudaErrorMemoryAllocation);
  guarded[ *memory = pages] = bytes;
  used += sizes[pages] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
  {
    // Waits for the device, like the toolkit's function.
    Engine &engine = Engine::get();
    std::unique_lock<std::mutex> lock(engine.mutex);
    engine.runAll(lock);
  }
  std::lock_guard<std::mutex> lock(guardMutex);
  if (auto size = sizes.find(memory); size != sizes.end()) {
    used -= size->second;
    sizes.erase(size);
  }
  auto found = guarded.find(memory);
  if (found == guarded.end()) {
    std::free(memory);
    return cudaSuccess;
  }
  munmap(memory, found->second);
  guarded.erase(found);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  std::lock_guard<std::mutex> lock(guardMutex);
  *total = memoryBytes();
  *available = *total - used;
  return cudaSuccess;
}
/// All of it together takes at most RONDO_EMULATED_PINNED bytes, if that is in
/// the environment.
static cudaError_t allocatePinned(void **memory, size_t bytes) {
  std::lock_guard<std::mutex> lock(guardMutex);
  size_t all = bytes;
  for (auto [first, size] : pinned)
    all += size;
  const char *most = std::getenv("RONDO_EMULATED_PINNED");
  if ((most && all > std::strtoull(most, nullptr, 10)) ||
      posix_memalign(memory, 4096, bytes) != 0)
    return emulation::remember(cudaErrorMemoryAllocation);
  pinned[*memory] = bytes;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **memory, size_t bytes) {
  RONDO_EMULATED(cudaMallocHost);
  return allocatePinned(memory, bytes);
}
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
  RONDO_EMULATED(cudaHostAlloc);
  return allocatePinned(memory, bytes);
}
cudaError_t cudaFreeHost(void *memory) {
  std::lock_guard<std::mutex> lock(guardMutex);
  pinned.erase(memory);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  RONDO_EMULATED(cudaMemcpyAsync);
  const void *host = kind == cudaMemcpyHostToDevice   ? from
                     : kind == cudaMemcpyDeviceToHost ? to
                                                      : nullptr;
  if (host && bytes > 0 && !isPinned(host, bytes))
    return emulation::remember(cudaErrorInvalidValue);
  emulation::enqueueCopy(stream, to, from, bytes, kind);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  RONDO_EMULATED(cudaMemcpy);
  emulation::enqueueCopy(nullptr, to, from, bytes, kind);
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes,
                            cudaStream_t stream) {
  RONDO_EMULATED(cudaMemsetAsync);
  emulation::enqueueMemset(
      stream, {memory, 0, static_cast<unsigned char>(byte), 1, bytes, 1});
  return cudaSuccess;
}
cudaError_t cudaMemset(void *memory, int byte, size_t bytes) {
  RONDO_EMULATED(cudaMemset);
  cudaError_t error = cudaMemsetAsync(memory, byte, bytes, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
