//===- gather.h - Moves state between processes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Process 0 reads and writes files; other processes hold most of the tensors. A
// pair of calls moves one array: process 0 and the process that holds the
// replica call with the same key, in the same order as all other pairs between
// them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_GATHER_H
#define RONDO_RUNTIME_TRAINER_GATHER_H

#include "runtime/execution/state.h"

#include <string>

namespace rondo::runtime {

/// Whether this process takes part in moving an array of the replica.
bool takesPart(const State &state, int32_t replica);

/// A key for what a replica has of that name; other replicas of its stage have
/// it as well.
std::string keyOf(const State &state, int32_t replica, const std::string &name);

/// Copies from a replica's buffers into `host` on process 0; elsewhere `host`
/// is scratch of the same size.
void gather(const State &state, int32_t replica, const std::string &key,
            const void *device, void *host, int64_t bytes);
/// Copies `host` of process 0 into a replica's buffers; elsewhere `host` is
/// unused.
void scatter(State &state, int32_t replica, const std::string &key,
             void *device, const void *host, int64_t bytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_GATHER_H
