// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked with a program for emulated GPUs, with enqueueCopy() wrapped: writes
// to standard error when a copy is enqueued, in ns of the machine's clock, and
// its turn.

#include "runtime/base/clock.h"
#include "runtime/execution/cuda/copy_streams.h"

#include <cstdio>

using rondo::runtime::CopyList;

#define RONDO_ENQUEUE(prefix)                                                  \
  prefix##_ZN5rondo7runtime4cuda11enqueueCopyERKNS0_8CopyList4CopyEbPN9emulation6StreamE

extern "C" {
void RONDO_ENQUEUE(__real_)(const CopyList::Copy &copy, bool isPoisoned,
                            cudaStream_t stream);

void RONDO_ENQUEUE(__wrap_)(const CopyList::Copy &copy, bool isPoisoned,
                            cudaStream_t stream) {
  std::fprintf(stderr, "turn %lld %s %d\n",
               static_cast<long long>(rondo::runtime::nowNs()),
               copy.isSave ? "SAVE" : "LOAD", copy.turn);
  RONDO_ENQUEUE(__real_)(copy, isPoisoned, stream);
}
}
