//===- communicator.cpp - One end of an NCCL communicator -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/communicator.h"

#include "runtime/base/cuda/stream.h"

#include <cstring>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

std::string rondo::runtime::cuda::makeCommunicatorId() {
  ncclUniqueId id;
  RONDO_NCCL(ncclGetUniqueId(&id));
  return std::string(id.internal, sizeof id.internal);
}

std::string rondo::runtime::cuda::reasonOf(ncclResult_t result) {
  std::string text = ncclGetErrorString(result);
  const char *cause = ncclGetLastError(nullptr);
  return cause && *cause ? text + ": " + cause : text;
}

Communicator::Communicator(const std::string &id, int ranks, int rank,
                           int maxBlocks, const std::string &name)
    : myName(name) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique.internal)
    throw Error("the identifier of " + name + " has " +
                    std::to_string(id.size()) + " bytes, not " +
                    std::to_string(sizeof unique.internal),
                Exit::RunFailure);
  std::memcpy(unique.internal, id.data(), sizeof unique.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.maxCTAs = maxBlocks;
  RONDO_NCCL(ncclCommInitRankConfig(&handle, ranks, unique, rank, &config));
}

Communicator::~Communicator() {
  if (!handle)
    return;
  // Everything enqueued has been done, so this takes no time; but a failed rank
  // does not leave.
  constexpr auto patience = std::chrono::seconds(5);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ncclResult_t result = isParting ? ncclInProgress : ncclSystemError;
  while (result == ncclInProgress &&
         std::chrono::steady_clock::now() < deadline) {
    if (ncclCommGetAsyncError(handle, &result) != ncclSuccess)
      break;
    if (result == ncclInProgress)
      std::this_thread::sleep_for(lookInterval);
  }
  if (result == ncclSuccess)
    ncclCommDestroy(handle);
  else
    ncclCommAbort(handle);
}

void Communicator::part() {
  if (!handle)
    return;
  const ncclResult_t result = ncclCommFinalize(handle);
  isParting = result == ncclSuccess || result == ncclInProgress;
}

bool Communicator::isSettled() const {
  ncclResult_t result = ncclSuccess;
  RONDO_NCCL(ncclCommGetAsyncError(handle, &result));
  if (result == ncclInProgress)
    return false;
  if (result != ncclSuccess)
    throw CommunicatorFailed(
        (callingRank < 0 ? std::string()
                         : "rank " + std::to_string(callingRank) + ": ") +
            myName + " failed: " + reasonOf(result),
        Exit::RunFailure);
  return true;
}

void Communicator::abort() {
  if (!handle)
    return;
  ncclCommAbort(handle);
  handle = nullptr;
}

Group::Group() { RONDO_NCCL(ncclGroupStart()); }

void Group::end() {
  isOpen = false;
  RONDO_NCCL(ncclGroupEnd());
}
