//===- gather.h - Moves state between processes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Process 0 reads and writes files; other processes hold most of the tensors. A
// pair of calls moves one array: process 0 and the process that holds the home
// call with the same key, in the same order as all other pairs between them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_GATHER_H
#define RONDO_RUNTIME_TRAINER_GATHER_H

#include "runtime/execution/state.h"

#include <string>

namespace rondo::runtime {

/// Whether this process takes part in moving an array of the home.
bool takesPart(const State &state, int32_t home);

/// A key for what a home has of that name; other homes of its stage have it as
/// well.
std::string keyOf(const State &state, int32_t home, const std::string &name);

/// Copies from a home's buffers into `host` on process 0; elsewhere `host` is
/// scratch of the same size.
void gather(const State &state, int32_t home, const std::string &key,
            const void *device, void *host, int64_t bytes);
/// Copies `host` of process 0 into a home's buffers; elsewhere `host` is
/// unused.
void scatter(State &state, int32_t home, const std::string &key, void *device,
             const void *host, int64_t bytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_GATHER_H
