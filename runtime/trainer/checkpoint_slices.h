//===- checkpoint_slices.h - What is in a checkpoint ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_CHECKPOINT_SLICES_H
#define RONDO_RUNTIME_TRAINER_CHECKPOINT_SLICES_H

#include "runtime/execution/state.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

inline constexpr char checkpointFormat[] = "rondo-checkpoint/1";
/// Begins the names of mean changes of weights.
inline constexpr char changesPrefix[] = "optimizer.d.";
/// Numbers that are copied at once between a file and a state: larger parts are
/// no faster.
inline constexpr int64_t copiedAtOnce = int64_t(1) << 20;

/// One array of a checkpoint: a tensor's weights, moments or changes.
struct Slice {
  std::string name;
  const Tensor *tensor;
  float *Tensor::*values;
};

/// Whether the replica of a tensor keeps changes; other processes know it too.
bool hasChanges(const State &state, const Tensor &tensor);
/// Copies of a tensor have its name, but changes of their own.
std::string nameOfChanges(const State &state, const Tensor &tensor);

/// Everything a checkpoint holds, in the order of its data. Of sharded state,
/// the tensors of the first of a group.
std::vector<Slice> slicesOf(const State &state, OptimizerKind optimizer,
                            bool withChanges);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_CHECKPOINT_SLICES_H
