//===- synthetic.cu - Layers that take a given time on a GPU --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like bodies/synthetic.cpp, with the same tags and gradients: one thread
// writes them, then spins until the task's time is over on the device's clock.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/cuda/stream.h"
#include "runtime/base/cuda/thread.h"
#include "runtime/base/random.h"
#include "runtime/bodies/cuda/layers.h"

#include <algorithm>
#include <cstring>

namespace rondo::runtime::cuda {

namespace {

/// A buffer with room for a tag at each end; null if there is none.
struct Tagged {
  char *first = nullptr, *last = nullptr;
};

Tagged tagged(const void *buffer, int64_t bytes) {
  if (bytes <= 0 || !buffer)
    return {};
  // The task decides whether this is read or written.
  char *begin = static_cast<char *>(const_cast<void *>(buffer));
  return {begin, begin + alignedBytes(bytes) - sizeof(uint64_t)};
}

struct Task {
  int64_t ns;
  uint64_t tag;
  Tagged read[maxLayerInputs + 3], written[maxLayerInputs + 3];
  /// Mixed into the tag; null: none.
  const uint32_t *weight;
  float *gradients;
  int64_t numGradients;
  float *loss;
};

__global__ void taskKernel(Task task) {
  if (threadIdx.x != 0)
    return;
  const int64_t deadline = deviceNs() + task.ns;
  uint64_t tag = task.tag;
  for (const Tagged &buffer : task.read)
    if (buffer.first)
      tag = mix(mix(tag, *reinterpret_cast<uint64_t *>(buffer.first)),
                *reinterpret_cast<uint64_t *>(buffer.last));
  if (task.weight)
    tag = mix(tag, *task.weight);
  for (const Tagged &buffer : task.written)
    if (buffer.first) {
      *reinterpret_cast<uint64_t *>(buffer.first) = tag;
      *reinterpret_cast<uint64_t *>(buffer.last) = tag;
    }
  for (int64_t i = 0; i < task.numGradients; ++i)
    task.gradients[i] +=
        static_cast<float>(static_cast<int64_t>(mix(tag, i) & 255) - 128);
  if (task.loss)
    *task.loss = 0;
  while (deviceNs() < deadline) {
  }
}

Task taskOf(const LayerDesc *layer, const LayerArgs *args, int64_t ns) {
  Task task{};
  task.ns = ns;
  task.tag = mix(hashName(layer->name), args->microbatch);
  return task;
}

void enqueue(const LayerArgs *args, const Task &task) {
  launch(*static_cast<const Stream *>(args->stream), taskKernel, dim3(1),
         dim3(32), 0, task);
}

int64_t keptForW(const LayerDesc *layer) {
  return layer->activationBytes - layer->inputGradFreesBytes;
}

void forward(const LayerDesc *layer, const LayerArgs *args) {
  Task task = taskOf(layer, args, layer->forwardNs);
  for (int32_t k = 0; k < layer->numInputs; ++k)
    task.read[k] = tagged(args->inputs[k], layer->inputBytes[k]);
  if (layer->weightBytes >= 4)
    task.weight = static_cast<const uint32_t *>(args->weights);
  task.written[0] = tagged(args->savedForInputGrad, layer->inputGradFreesBytes);
  task.written[1] = tagged(args->savedForWeightGrad, keptForW(layer));
  task.written[2] = tagged(args->output, layer->outputBytes);
  task.loss = static_cast<float *>(args->loss);
  enqueue(args, task);
}

void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  Task task = taskOf(layer, args, layer->inputGradNs);
  task.read[0] = tagged(args->savedForInputGrad, layer->inputGradFreesBytes);
  const int64_t read =
      layer->offloads & leavesUntilWeightGrad ? 0 : keptForW(layer);
  task.read[1] = tagged(args->savedForWeightGrad, read);
  task.read[2] = tagged(args->outputGrad, layer->outputBytes);
  task.written[0] = tagged(args->savedForWeightGrad, read);
  task.written[1] = tagged(args->keptForWeightGrad, layer->inputGradKeepsBytes);
  for (int32_t k = 0; k < layer->numInputs; ++k)
    task.written[2 + k] = tagged(args->inputGrads[k], layer->inputBytes[k]);
  enqueue(args, task);
}

void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  Task task = taskOf(layer, args, layer->weightGradNs);
  task.read[0] = tagged(args->savedForWeightGrad, keptForW(layer));
  task.read[1] = tagged(args->keptForWeightGrad, layer->inputGradKeepsBytes);
  task.gradients = static_cast<float *>(args->gradients);
  task.numGradients = std::min<int64_t>(layer->weightBytes / 4, 64);
  enqueue(args, task);
}

} // namespace

LayerBody syntheticBody() {
  return {forward, inputGrad, weightGrad,
          cpuBody(LayerKind::Synthetic).tensors};
}

} // namespace rondo::runtime::cuda
