//===- nccl.h - Communicators between emulated devices ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of NCCL's interface that Rondo uses. The ranks of a communicator are
// either all in this process or in one process each. Communicators must be
// non-blocking, and calls take effect only after the communicator has been
// asked often enough whether they have. A pair connects with its first
// messages: the host waits for both, and no capture may hold them. Messages of
// a pair match in order; if two have different sizes, the process ends. A send
// may or may not end before its receive has begun. No communicator is given
// back before its work has ended and the graphs that hold its calls are gone.
//
// RONDO_EMULATED_NCCL is the version, 22809 by default. Two ranks on one GPU
// are an error, except from 23000 on if NCCL_MULTI_RANK_GPU_ENABLE is 1. With
// RONDO_EMULATED_LOSS=unseen no communicator notices the loss of a process, as
// on one machine.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_NCCL_H
#define RONDO_TEST_CUDA_EMULATION_NCCL_H

#include "cuda_runtime.h"

#include <climits>

struct ncclComm;
using ncclComm_t = ncclComm *;

constexpr int NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclDataType_t { ncclInt8 = 0, ncclFloat32 = 7, ncclFloat64 = 8 };

struct ncclConfig_t {
  int blocking;
  int maxCTAs;
};
#define NCCL_CONFIG_INITIALIZER {INT_MIN, INT_MIN}

const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void *data, void *all, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);

#endif // RONDO_TEST_CUDA_EMULATION_NCCL_H
