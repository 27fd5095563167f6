//===- moment_shard.cpp - Steps of replicas that shard moments ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/moment_shard.h"

using namespace rondo::runtime;

/// The part of a tensor whose moments its replica keeps.
static Tensor partOf(const Tensor &tensor) {
  Tensor part = tensor;
  const int64_t skipped = tensor.firstMoment - tensor.first;
  part.first = tensor.firstMoment;
  part.count = tensor.numMoments;
  if (part.count == 0)
    return part;
  part.weights += skipped;
  part.gradients += skipped;
  if (part.changes)
    part.changes += skipped;
  // In bf16.
  if (part.weightsCopy)
    part.weightsCopy = static_cast<char *>(part.weightsCopy) + 2 * skipped;
  return part;
}

void MomentShard::step(const StageTensors &stage, const UpdateRule &rule) {
  stepped.clear();
  for (int32_t t = 0; t < stage.numTensors; ++t)
    stepped.push_back(partOf(stage.tensors[t]));
  StageTensors own = stage;
  own.tensors = stepped.data();
  own.gradients = nullptr;
  own.gradientBytes = 0;
  device.step(own, rule);
  for (const Tensor &part : stepped)
    if (part.count > 0 && !part.layout.isFrozen)
      device.copy(part.gradients, part.weights, 4 * part.count);
}

char *MomentShard::shardOf(const MomentShard &owner) const {
  const int64_t shard =
      owner.binding.replica->index % binding.desc->momentShards;
  return binding.gradients +
         int64_t(sizeof(float)) * shard * binding.momentShard;
}

void MomentShard::gatherFrom(const std::vector<const MomentShard *> &group) {
  for (const MomentShard *other : group)
    if (other != this)
      device.copy(shardOf(*other), other->shardOf(*other),
                  int64_t(sizeof(float)) * binding.momentShard);
}

void MomentShard::finish(const StageTensors &stage) {
  for (int32_t t = 0; t < stage.numTensors; ++t) {
    const Tensor &tensor = stage.tensors[t];
    if (tensor.layout.isFrozen || tensor.count == 0)
      continue;
    const int64_t end = tensor.firstMoment + tensor.numMoments;
    auto keepChange = [&](int64_t first, int64_t last) {
      if (tensor.changes && last > first)
        device.keepChange(last - first, stage.changeDecay,
                          tensor.weights + first, tensor.gradients + first,
                          tensor.changes + first);
    };
    // The step has kept the changes of its own elements.
    if (tensor.numMoments == 0) {
      keepChange(0, tensor.count);
    } else {
      keepChange(0, tensor.firstMoment);
      keepChange(end, tensor.count);
    }
    device.copy(tensor.weights, tensor.gradients, 4 * tensor.count);
    if (tensor.weightsCopy)
      device.toBf16(tensor.weightsCopy, tensor.weights, tensor.count);
  }
  if (stage.gradientBytes > 0)
    device.clear(stage.gradients, stage.gradientBytes);
}
