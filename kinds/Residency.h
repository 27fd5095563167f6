//===- Residency.h - Limit of launches in flight ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank launches its sends, receives and collectives in program order. On a
// GPU each launch is an NCCL kernel, which occupies its multiprocessors while
// it waits for the peer. So a target limits the number K of resident launches,
// those in flight on a device at once. If a program could exceed K, launch i
// waits for the end of launch i - K. Then at most one launch per remainder
// modulo K is in flight, and at most K in total.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_RESIDENCY_H
#define RONDO_KINDS_RESIDENCY_H

#include <cstdint>

namespace rondo {

/// Maximum number of thread blocks that the messages of one rank may use
/// together. A waiting block occupies its multiprocessor; 16 is a seventh of
/// the 108 multiprocessors of an A100, so most remain free for computing.
inline constexpr int32_t maxBlocksOfMessages = 16;

/// K of a GPU if the plan states none: each launch uses at least one block.
inline constexpr int32_t defaultResident = maxBlocksOfMessages;

/// Upper limit of K. A program has fewer launch queues, so a larger K has no
/// effect.
inline constexpr int64_t maxResident = 65535;

} // namespace rondo

#endif // RONDO_KINDS_RESIDENCY_H
