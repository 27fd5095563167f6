//===- emulation.h - How tests control the emulated device ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_CUDA_EMULATION_EMULATION_H
#define RONDO_TEST_CUDA_EMULATION_EMULATION_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace emulation {

/// Chooses the orders in which streams run from now on. Initially 1, or the
/// number RONDO_EMULATED_SEED in the environment.
void seed(uint64_t value);

/// The number of GPUs in the machine; asking for it gives `error`. One GPU
/// initially.
void setDevices(int count, int error = 0);

/// Whether GPUs can access each other's memory; initially they can. Access to
/// `refused`, if there is one, fails although the machine says that it can.
void setPeerAccess(bool is, int refused = -1);

/// Difference of a device's clock to the host's; initially 0.
void setClockOffset(int device, int64_t ns);

/// After `skip` calls of a toolkit function, the next one gives `error` instead
/// of doing its work. Null: no call does.
void failCall(const char *function, int skip, int error);

/// After `skip` queries of communicators for asynchronous errors, the next one
/// gives this error; 0: none does.
void failCommunicator(int skip, int error);

/// Maximum number of NCCL's groups of calls on a device at once. Each keeps its
/// place while it waits for its peers, and a group that finds no place does not
/// begin. 0, initially: no limit. If RONDO_EMULATED_RESIDENT is in the
/// environment, a program with more groups at once than that ends.
void setResident(int most);
/// The most that have been on one device at once since the last call.
int maxResident();

/// An algorithm for products. They differ only in what is written here.
struct Algorithm {
  /// Delay of a product's end in the events of its stream, ms.
  double ms = 0;
  /// Bits of cublasLtReductionScheme_t.
  uint32_t reductions = 0;
  /// Workspace that it needs beyond the workspace that it was chosen for.
  size_t moreWorkspace = 0;
  /// Whether products with it fail, though it is in the library's list.
  bool isRefused = false;
};
/// The library's list for every product from now on, in this order. Initially
/// one without times, or one for each of the numbers of ms, with commas between
/// them, in the environment's RONDO_EMULATED_PRODUCTS.
void setAlgorithms(const std::vector<Algorithm> &all);
/// Number of products enqueued with algorithm `number`.
int64_t productsWith(size_t number);

/// A kernel of a module that the driver loads from `image`: its work for the
/// parameters of a launch, which it copies.
using DriverKernel = std::function<std::function<void()>(void **parameters)>;
void setDriverKernel(const void *image, const char *name, DriverKernel kernel);
/// Modules that the driver has loaded and not unloaded.
int loadedModules();

/// Number of times that kernels have been given more shared memory since the
/// last call.
int sharedSettings();

/// Number of copies between the host and devices that graphs have done since
/// the last call.
int hostCopiesOfGraphs();

/// While an object exists, the host must not touch device memory: it faults.
/// Memory allocated before stays accessible.
class GuardedMemory {
public:
  GuardedMemory();
  ~GuardedMemory();
};

/// Streams, events, graphs and communicators that have not been destroyed.
int liveHandles();
/// Streams, events and communicators that were destroyed while another device
/// than theirs was current, since the last call.
int destroyedElsewhere();
/// Number of operations that streams have received and not done.
int operationsLeft();

} // namespace emulation

#endif // RONDO_TEST_CUDA_EMULATION_EMULATION_H
