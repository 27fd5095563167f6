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
  /// What has made the moments.
  OptimizerKind optimizer = OptimizerKind::AdamW;
};

/// Writes a safetensors file: weights under their global names, moments as
/// "optimizer.m.<name>" and "optimizer.v.<name>"; a shared tensor once. SGD has
/// no second moments. Where weights are moved back, "optimizer.d.<name>" is the
/// mean of their changes, "optimizer.d.<layer>.<name>" that of a copy. The file
/// appears whole or not at all: it is written next to `path` and renamed. All
/// processes call it. Process 0 writes, and throws Error with Exit::Failure if
/// it cannot; the run may then go on.
void saveCheckpoint(const std::string &path, const State &state,
                    const RunPosition &position);

/// Reads what saveCheckpoint() wrote, for any partition of the same model. All
/// processes call it; process 0 reads.
/// A file without changes leaves those of the state as they are, and a state
/// without them takes none.
/// Throws Error if the header is damaged, if `optimizer` has not written it, or
/// the file does not hold exactly the model's tensors, or is too short for
/// them; the state is then unchanged. It also throws if reading fails later,
/// when part of the state has been written.
RunPosition loadCheckpoint(const std::string &path, State &state,
                           OptimizerKind optimizer);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_CHECKPOINT_H
