//===- communicator.h - One end of an NCCL communicator ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_COMMUNICATOR_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_COMMUNICATOR_H

#include "runtime/base/cuda/stream.h"

#include <nccl.h>
#include <string>

namespace rondo::runtime::cuda {

/// NCCL's text for an error, and for its cause if NCCL knows it.
std::string reasonOf(ncclResult_t result);

/// Throws Error if a call failed; a call in progress has not.
inline void check(ncclResult_t result, const char *call, const char *file,
                  int line) {
  if (result != ncclSuccess && result != ncclInProgress)
    fail(call, reasonOf(result), file, line);
}
#define RONDO_NCCL(call)                                                       \
  ::rondo::runtime::cuda::check((call), #call, __FILE__, __LINE__)

/// A communicator has failed, often because another rank has.
struct CommunicatorFailed : Error {
  using Error::Error;
};

/// An identifier that the ranks of one communicator must share.
std::string makeCommunicatorId();

/// Non-blocking, since only then can it be aborted: a call may not have taken
/// effect when it returns, and nothing that depends on it may be enqueued
/// before isSettled(). The rank's GPU must be current in all calls.
class Communicator {
public:
  /// Starts connecting `rank` of `ranks`; isSettled() says when that is done.
  /// `name` is for messages: "the channel from rank 0 to rank 1". A call takes
  /// at most `maxBlocks` thread blocks, the same on all ranks.
  Communicator(const std::string &id, int ranks, int rank, int maxBlocks,
               const std::string &name);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  ncclComm_t get() const { return handle; }
  const std::string &name() const { return myName; }
  /// Whether all calls so far have taken effect. Throws CommunicatorFailed.
  bool isSettled() const;
  /// Starts leaving; all ranks do so before any communicator is destroyed, so
  /// that no rank frees memory that another still reads.
  void part();
  /// Ends its work on the device after a failure of the run; the communicator
  /// cannot be used afterwards.
  void abort();

private:
  const std::string myName;
  ncclComm_t handle = nullptr;
  bool isParting = false;
};

/// Calls that NCCL takes as one. The thread's group is closed even if a call
/// fails, or later calls would fall into it.
class Group {
public:
  Group();
  ~Group() {
    if (isOpen)
      ncclGroupEnd();
  }
  void end();

private:
  bool isOpen = true;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_COMMUNICATOR_H
