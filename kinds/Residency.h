//===- Residency.h - What a rank has in flight at once ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank launches its sends, receives and collectives in one order, that of its
// program. On a GPU each is a kernel of NCCL, which keeps its multiprocessors
// while it waits for the peer. So a target has a number of launches that may be
// resident, in flight on a device, at once. Where a program could have more,
// launch i waits for the end of launch i - K: of those with the same remainder
// modulo K one is in flight, so at most K are.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_RESIDENCY_H
#define RONDO_KINDS_RESIDENCY_H

#include <cstdint>

namespace rondo {

/// Thread blocks that the messages of one rank may take together: a seventh of
/// the multiprocessors of an A100, which has 108, so that computing goes on. A
/// waiting block keeps the one that it runs on.
inline constexpr int32_t maxBlocksOfMessages = 16;

/// K of a GPU where the plan states none: a launch takes a block at least.
inline constexpr int32_t defaultResident = maxBlocksOfMessages;

/// A larger K would say nothing: a program has fewer queues of launches.
inline constexpr int64_t maxResident = 65535;

} // namespace rondo

#endif // RONDO_KINDS_RESIDENCY_H
