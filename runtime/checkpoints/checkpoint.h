//===- checkpoint.h - Saves and resumes a run -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_H
#define RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_H

#include "runtime/data/data.h"
#include "runtime/execution/state.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// With the tensors, all that a run needs to continue as if it had not stopped.
/// The position in the data follows from seed and step.
struct RunPosition {
  /// Optimizer steps done, skipped ones included.
  int64_t step = 0;
  uint64_t seed = 0;
  /// Identity of the data that the run was given.
  DataIdentity data;
  /// The optimizer of the moments.
  OptimizerKind optimizer = OptimizerKind::AdamW;
};

/// Writes weights under their global names, moments as "optimizer.m.<name>" and
/// "optimizer.v.<name>"; a shared tensor once. SGD has no second moments. Where
/// weights are moved back, "optimizer.d.<name>" is the mean of their changes,
/// "optimizer.d.<layer>.<name>" that of a copy. A tensor is whole in one file,
/// also if its state is sharded.
///
/// All processes call it, with the same position. A single one writes the file
/// `path`; several write shards and an index (checkpoint_files.h), each the
/// bytes that it holds. The checkpoint that was there before stays whole until
/// the new one is on the disk. Throws Error with Exit::Failure in process 0 if
/// a process cannot write; the run may then go on, and the others return.
void saveCheckpoint(const std::string &path, const State &state,
                    const RunPosition &position);

/// Whether saveCheckpoint() will be able to write, as far as can be seen now.
/// All processes call it. Throws Error in process 0 and PeerFailed elsewhere.
void checkSavePath(const std::string &path, const State &state);

/// Reads what saveCheckpoint() wrote, in any number of files, for any partition
/// of the same model. All processes call it. Process 0 checks all files before
/// any process reads the tensors that it holds.
/// A file without changes leaves those of the state as they are, and a state
/// without them takes none.
/// Throws Error if a file is missing, damaged or of another save, if
/// `optimizer` has not written it, or if the files do not hold exactly the
/// model's tensors; the state is then unchanged. It also throws if reading
/// fails later, when part of the state has been written.
RunPosition loadCheckpoint(const std::string &path, State &state,
                           OptimizerKind optimizer);

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

#endif // RONDO_RUNTIME_CHECKPOINTS_CHECKPOINT_H
