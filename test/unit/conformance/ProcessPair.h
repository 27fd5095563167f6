//===- ProcessPair.h - Ranks that see each other as processes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_PROCESSPAIR_H
#define RONDO_TEST_UNIT_CONFORMANCE_PROCESSPAIR_H

#include "runtime/backend/backend.h"

namespace rondo::runtime::test {

/// The CPU with the transport between processes, one per rank: over memory of
/// this process instead of MPI, and over TCP.
extern const Backend processBackend, tcpBackend;

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_PROCESSPAIR_H
