//===- arenas.cpp - Memory of a rank on a GPU, and on its host ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/arenas.h"

#include "runtime/device/host_arena.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace {

class CudaArena : public Arena {
public:
  CudaArena(std::shared_ptr<Gpu> gpu, int64_t bytes)
      : gpu(std::move(gpu)), size(bytes) {
    this->gpu->select();
    if (bytes == 0)
      return;
    const cudaError_t error = cudaMalloc(reinterpret_cast<void **>(&memory),
                                         static_cast<size_t>(bytes));
    if (error == cudaErrorMemoryAllocation)
      throw Error(this->gpu->lacks(bytes));
    check(error, "cudaMalloc", __FILE__, __LINE__);
    this->gpu->fill(memory, 0, bytes);
  }
  ~CudaArena() override {
    if (memory)
      cudaFree(memory);
  }

  char *base() const override { return memory; }
  int64_t bytes() const override { return size; }
  void read(void *host, const void *device, int64_t bytes) const override {
    gpu->read(host, device, bytes);
  }
  void write(void *device, const void *host, int64_t bytes) override {
    gpu->write(device, host, bytes);
  }
  void fill(void *device, uint8_t byte, int64_t bytes) override {
    gpu->fill(device, byte, bytes);
  }

private:
  const std::shared_ptr<Gpu> gpu;
  const int64_t size;
  char *memory = nullptr;
};

/// While it exists, new pages of the calling thread come from a NUMA node as
/// long as that has free ones. Has no effect if the system refuses, as in
/// containers without CAP_SYS_NICE.
class PreferredNode {
public:
  /// Below 0: none.
  explicit PreferredNode(int node) {
    if (node < 0 || node >= maxNodes ||
        syscall(SYS_get_mempolicy, &oldMode, old, maxNodes, nullptr, 0) != 0)
      return;
    unsigned long wanted[numWords] = {};
    wanted[node / wordBits] = 1UL << node % wordBits;
    isSet = syscall(SYS_set_mempolicy, MPOL_PREFERRED, wanted, maxNodes) == 0;
  }
  ~PreferredNode() {
    if (isSet)
      syscall(SYS_set_mempolicy, oldMode, old, maxNodes);
  }
  PreferredNode(const PreferredNode &) = delete;
  PreferredNode &operator=(const PreferredNode &) = delete;

private:
  static constexpr int wordBits = 8 * sizeof(unsigned long);
  /// The most that a kernel can be built for.
  static constexpr int maxNodes = 1024, numWords = maxNodes / wordBits;

  bool isSet = false;
  int oldMode = MPOL_DEFAULT;
  unsigned long old[numWords] = {};
};

/// Bytes of the machine's memory that programs can still take. Unlike free
/// pages, that includes the page cache.
static int64_t availableMemory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (int64_t kib = 0;
        std::sscanf(line.c_str(), "MemAvailable: %" SCNd64 " kB", &kib) == 1)
      return kib * 1024;
  return int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

class PinnedArena : public HostArena {
public:
  PinnedArena(const std::shared_ptr<Gpu> &gpu, int32_t rank, int64_t bytes)
      : HostArena(bytes), gpu(gpu) {
    if (bytes == 0)
      return;
    gpu->select();
    int node = -1;
    if (cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, gpu->ordinal) !=
        cudaSuccess)
      (void)cudaGetLastError();
    const PreferredNode preferred(node);
    const cudaError_t error =
        cudaHostAlloc(reinterpret_cast<void **>(&memory),
                      static_cast<size_t>(bytes), cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation)
      throw Error(
          "rank " + std::to_string(rank) + " cannot allocate " +
          std::to_string(bytes) +
          " bytes of pinned memory of the host for the activations that it "
          "copies from GPU " +
          std::to_string(gpu->ordinal) + ": " +
          std::to_string(availableMemory()) + " of the machine's " +
          std::to_string(int64_t(sysconf(_SC_PHYS_PAGES)) *
                         sysconf(_SC_PAGESIZE)) +
          " bytes are available. Take a schedule with fewer copies, for "
          "example "
          "offload = fit, or limit them with host_memory_bytes of the device");
    check(error, "cudaHostAlloc", __FILE__, __LINE__);
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }
  ~PinnedArena() override {
    if (!memory)
      return;
    cudaSetDevice(gpu->ordinal);
    // Unlike cudaFree(), cudaFreeHost() is not documented to wait for copies.
    cudaDeviceSynchronize();
    cudaFreeHost(memory);
  }

private:
  const std::shared_ptr<Gpu> gpu;
};

} // namespace

std::unique_ptr<Arena>
rondo::runtime::cuda::makeArena(const std::shared_ptr<Gpu> &gpu,
                                int64_t bytes) {
  return std::make_unique<CudaArena>(gpu, bytes);
}

std::unique_ptr<Arena>
rondo::runtime::cuda::makeHostArena(const std::shared_ptr<Gpu> &gpu,
                                    int32_t rank, int64_t bytes) {
  return std::make_unique<PinnedArena>(gpu, rank, bytes);
}
