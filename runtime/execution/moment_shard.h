//===- moment_shard.h - Steps of replicas that shard moments ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group keep all weights and gradients, and a shard of the
// moments each. A step changes the weights of the replica's shard. Then the
// gradients are used, and their memory takes the new weights: the replica's
// own, and, once the group has gathered them, those of the others.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_MOMENT_SHARD_H
#define RONDO_RUNTIME_EXECUTION_MOMENT_SHARD_H

#include "runtime/execution/state.h"
#include "runtime/optimizer/rule.h"

#include <vector>

namespace rondo::runtime {

/// One replica with a shard of the moments.
class MomentShard {
public:
  MomentShard(Device &device, const ReplicaBinding &binding)
      : device(device), binding(binding) {}

  /// Steps the shard's elements of the newest weights, and puts them where the
  /// gradients were. Call finish() before anything reads the weights.
  void step(const StageTensors &stage, const UpdateRule &rule);
  /// Memory for the gathered weights of the group: all shards in order.
  float *gathered() const {
    return reinterpret_cast<float *>(binding.gradients);
  }
  /// Copies the shards of the others of a group that this rank has.
  void gatherFrom(const std::vector<const MomentShard *> &group);
  /// The group's weights are gathered: completes the newest weights, and the
  /// mean of their changes, and clears the gradients.
  void finish(const StageTensors &stage);

private:
  char *shardOf(const MomentShard &owner) const;

  Device &device;
  const ReplicaBinding &binding;
  /// The stage's tensors, only what the step changes.
  std::vector<Tensor> stepped;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_MOMENT_SHARD_H
