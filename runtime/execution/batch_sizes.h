//===- batch_sizes.h - Sizes of the micro-batches of a batch ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H
#define RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H

#include "runtime/execution/state.h"

#include <memory>
#include <vector>

namespace rondo::runtime {

/// The replicas of a state with the sizes of the micro-batches of a program
/// that was made during the run. The state finds them while the object exists.
class BatchSizes {
public:
  /// At most one for the program's tables, which must outlive it, as the state
  /// must. Throws Error if the tables are invalid.
  BatchSizes(State &state, const ProgramDesc &program);
  BatchSizes(const BatchSizes &) = delete;
  BatchSizes &operator=(const BatchSizes &) = delete;
  ~BatchSizes();

private:
  State &state;
  const UnevenDesc &tables;
  std::vector<std::vector<ReplicaBinding>> sizes;
  std::vector<std::unique_ptr<LoadedBody>> bodies;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H
