//===- checkpoint.h - Weights and optimizer state in a file -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_CHECKPOINT_H
#define RONDO_RUNTIME_TRAINER_CHECKPOINT_H

#include "runtime/execution/state.h"

#include <cstdint>
#include <string>

namespace rondo::runtime {

/// What a run needs besides the tensors to continue as if it had not stopped.
/// The position in the data follows from seed and step.
struct RunPosition {
  /// Optimizer steps done, skipped ones included.
  int64_t step = 0;
  uint64_t seed = 0;
  /// Hash of the data that the run was given; 0: none.
  uint64_t dataHash = 0;
};

/// Writes a safetensors file: weights under their global names, moments as
/// "optimizer.m.<name>" and "optimizer.v.<name>"; a shared tensor once. The
/// file appears whole or not at all: it is written next to `path` and renamed.
/// All processes call it. Process 0 writes, and throws Error with Exit::Failure
/// if it cannot; the run may then go on.
void saveCheckpoint(const std::string &path, const State &state,
                    const RunPosition &position);

/// Reads what saveCheckpoint() wrote, for any partition of the same model. All
/// processes call it; process 0 reads.
/// Throws Error if the header is damaged, or the file does not hold exactly the
/// model's tensors, or is too short for them; the state is then unchanged. It
/// also throws if reading fails later, when part of the state has been written.
RunPosition loadCheckpoint(const std::string &path, State &state);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_CHECKPOINT_H
