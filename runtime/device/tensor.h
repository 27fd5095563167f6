//===- tensor.h - The tensors that an optimizer works on --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_TENSOR_H
#define RONDO_RUNTIME_DEVICE_TENSOR_H

#include "runtime/bodies/body.h"
#include "runtime/optimizer/control.h"

#include <cstdint>
#include <string>

namespace rondo::runtime {

/// A tensor of the model, by its global name; of a replica that keeps a shard
/// of its stage's state, what is in the shard.
struct Tensor {
  std::string name;
  /// Global name of the tensor of which this is a copy; empty: none.
  std::string sharedWith;
  /// Layout of the whole tensor.
  LayerTensor layout;
  /// The elements that are here: all, a part, or none.
  int64_t first = 0, count = 0;
  /// The elements whose moments are here: those that are, or a part of them, or
  /// none. The replica's step changes these.
  int64_t firstMoment = 0, numMoments = 0;
  /// The replica that holds this copy, and the replica whose copy counts for
  /// the norm and the checkpoint, where state lies sharded together with those
  /// of its group. Numbers of replicas.
  int32_t replica = 0, owner = 0;
  int32_t layerInStage = 0;
  /// Its place among the partial norms of its stage.
  int64_t partial = 0;
  /// The number in its stage of the tensor whose weights this copy gets after a
  /// step, which has no moments of its own; -1: the tensor has a step itself.
  int32_t weightsFrom = -1;
  /// Addresses of element `first`; of a frozen tensor the weights alone.
  float *weights = nullptr, *gradients = nullptr;
  /// Addresses of element `firstMoment`.
  float *moment1 = nullptr, *moment2 = nullptr;
  /// The running mean of the weights' changes; null: nobody needs it.
  float *changes = nullptr;
  /// The weights in the layer's dtype if that is not fp32; otherwise null.
  /// Written by the device.
  void *weightsCopy = nullptr;
};

/// The optimizer's view of a stage: its tensors, in the order of the weights,
/// and its buffers.
struct StageTensors {
  const Tensor *tensors = nullptr;
  int32_t numTensors = 0;
  /// Places for partial norms in its control memory.
  int64_t numPartials = 0;
  ControlView control;
  char *gradients = nullptr;
  int64_t gradientBytes = 0;
  /// Share of the mean of changes that a step keeps.
  float changeDecay = 0;
  /// Indexed by tensor: its own control header, in the device's memory; null:
  /// the stage's. A null array: all tensors use the stage's.
  ControlHeader *const *ownHeaders = nullptr;

  ControlHeader *ownHeader(int32_t tensor) const {
    return ownHeaders ? ownHeaders[tensor] : nullptr;
  }
  const ControlHeader *headerOf(int32_t tensor) const {
    const ControlHeader *own = ownHeader(tensor);
    return own ? own : control.header;
  }
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_TENSOR_H
