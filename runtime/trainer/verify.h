//===- verify.h - Runs from the start, and what they end with ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_VERIFY_H
#define RONDO_RUNTIME_TRAINER_VERIFY_H

#include "runtime/trainer/trainer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Indexed by tensor of the state; for a shard, its elements.
using Weights = std::vector<std::vector<float>>;

struct Snapshot {
  /// Weights; `before` is empty if only the end is compared.
  Weights before, after;
  int64_t skipped = 0;
};

/// Parameters of a run from the start.
struct RunFromStart {
  uint64_t seed = 1;
  int64_t iterations = 1;
  int64_t drainEvery = 100;
  /// Lines begin with it, or with the program's name if it is empty.
  std::string label;
  bool keepBefore = false, quiet = true;
};

/// Trains with the pipelines, from initial weights.
Snapshot runPipelines(Trainer &trainer, const Turns &turns,
                      const RunFromStart &how);
/// Trains with the sequential programs that the pipelines must equal, one
/// iteration after another. Where iterations overlap, tasks read the versions
/// that the pipeline's tables name. The process holds all stages.
Snapshot runReference(Trainer &trainer, const Turns &turns,
                      const RunFromStart &how);

/// Result of a comparison.
struct Difference {
  std::string first;
  /// Counts weights, or tensors if there is a tolerance.
  int64_t count = 0;
};

/// Largest difference that compareChange() accepts.
inline constexpr double tolerance = 0.05;

Difference compareBits(const State &state, const Snapshot &reference,
                       const Snapshot &other);
/// For runs that add in a different order. AdamW moves a weight by about the
/// learning rate however small its gradient, so single elements say nothing: a
/// tensor's difference is measured relative to how far training moved it.
Difference compareChange(const State &state, const Snapshot &reference,
                         const Snapshot &other);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_VERIFY_H
