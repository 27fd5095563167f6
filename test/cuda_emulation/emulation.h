//===- emulation.h - What tests tell the emulated device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_CUDA_EMULATION_EMULATION_H
#define RONDO_TEST_CUDA_EMULATION_EMULATION_H

#include <cstdint>

namespace emulation {

/// Chooses the orders in which streams run from now on.
void seed(uint64_t value);

/// The machine has so many GPUs, and asking for their number gives `error`.
/// One GPU at first.
void setDevices(int count, int error = 0);

/// The next call but `skip` of a function of the toolkit gives `error` instead
/// of doing its work. Null: no call does.
void failCall(const char *function, int skip, int error);

/// The next communicator that is asked for an asynchronous error after `skip`
/// further such calls has this one; 0: none has.
void failCommunicator(int skip, int error);

/// While an object lives, the host may not touch device memory: it faults.
/// Memory that was allocated before stays open.
class GuardedMemory {
public:
  GuardedMemory();
  ~GuardedMemory();
};

/// Streams, events, graphs and communicators that have not been destroyed.
int liveHandles();

} // namespace emulation

#endif // RONDO_TEST_CUDA_EMULATION_EMULATION_H
