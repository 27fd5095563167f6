//===- batch_sizes.h - Sizes of the micro-batches of a batch ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H
#define RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H

#include "runtime/execution/state.h"

#include <memory>
#include <vector>

namespace rondo::runtime {

/// The replicas of a state with the sizes of the micro-batches of a program
/// that was made during the run.
class BatchSizes {
public:
  /// At most one for the program's tables, which must outlive it, as the state
  /// must. Throws Error if the tables are invalid. On any thread, unless layers
  /// are custom.
  BatchSizes(State &state, const ProgramDesc &program);
  BatchSizes(const BatchSizes &) = delete;
  BatchSizes &operator=(const BatchSizes &) = delete;
  ~BatchSizes();

  /// The state finds them from now on, as long as the object exists. On the
  /// thread that runs the programs.
  void attach();

private:
  State &state;
  const UnevenDesc &tables;
  bool isAttached = false;
  std::vector<std::vector<ReplicaBinding>> sizes;
  std::vector<std::unique_ptr<LoadedBody>> bodies;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_BATCH_SIZES_H
