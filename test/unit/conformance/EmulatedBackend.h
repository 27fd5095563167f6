//===- EmulatedBackend.h - GPUs of one process, with graphs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_EMULATEDBACKEND_H
#define RONDO_TEST_UNIT_CONFORMANCE_EMULATEDBACKEND_H

#include "runtime/backend/backend.h"

namespace rondo::runtime::test {

/// cudaBackend with a GPU per rank, and with graphs, as if each rank had a
/// process.
extern const Backend emulatedNccl;

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_EMULATEDBACKEND_H
