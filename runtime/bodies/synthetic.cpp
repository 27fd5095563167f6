//===- synthetic.cpp - Layers that take a given time ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task takes its own duration, counted from its start. It also passes tags
// on: a tag depends on the layer, the micro-batch, the first weight and the
// incoming message, and W adds small whole numbers made of the tag to the
// gradients. So a message that is lost, torn or swapped, or a buffer freed too
// early, changes the weights, while any order of accumulation gives the same
// sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/bodies/layers.h"

#include <algorithm>
#include <cstring>

namespace rondo::runtime {

namespace {

/// Buffers are padded to bufferAlignment, so one that is not empty has room for
/// a tag at each end.
void writeTag(void *buffer, int64_t bytes, uint64_t tag) {
  if (bytes <= 0 || !buffer)
    return;
  char *last = static_cast<char *>(buffer) + alignedBytes(bytes) - sizeof(tag);
  std::memcpy(buffer, &tag, sizeof(tag));
  std::memcpy(last, &tag, sizeof(tag));
}

/// Mixes the tags at both ends of a buffer into `tag`.
uint64_t mixTag(uint64_t tag, const void *buffer, int64_t bytes) {
  if (bytes <= 0 || !buffer)
    return tag;
  uint64_t first, last;
  const char *end = static_cast<const char *>(buffer) + alignedBytes(bytes);
  std::memcpy(&first, buffer, sizeof(first));
  std::memcpy(&last, end - sizeof(last), sizeof(last));
  return mix(mix(tag, first), last);
}

uint64_t taskTag(const LayerDesc *layer, const LayerArgs *args) {
  return mix(hashName(layer->name), args->microbatch);
}

int64_t keptForW(const LayerDesc *layer) {
  return layer->activationBytes - layer->inputGradFreesBytes;
}

void forward(const LayerDesc *layer, const LayerArgs *args) {
  const int64_t deadlineNs = nowNs() + layer->forwardNs;
  uint64_t tag = taskTag(layer, args);
  for (int32_t k = 0; k < layer->numInputs; ++k)
    tag = mixTag(tag, args->inputs[k], layer->inputBytes[k]);
  if (layer->weightBytes >= 4) {
    uint32_t firstWeight;
    std::memcpy(&firstWeight, args->weights, sizeof(firstWeight));
    tag = mix(tag, firstWeight);
  }
  writeTag(args->savedForInputGrad, layer->inputGradFreesBytes, tag);
  writeTag(args->savedForWeightGrad, keptForW(layer), tag);
  writeTag(args->output, layer->outputBytes, tag);
  if (args->loss)
    *at<float>(args->loss, 0) = 0;
  sleepUntil(deadlineNs);
}

void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const int64_t deadlineNs = nowNs() + layer->inputGradNs;
  uint64_t tag = taskTag(layer, args);
  tag = mixTag(tag, args->savedForInputGrad, layer->inputGradFreesBytes);
  const bool isAway = (layer->offloads & leavesUntilWeightGrad) != 0;
  if (!isAway)
    tag = mixTag(tag, args->savedForWeightGrad, keptForW(layer));
  tag = mixTag(tag, args->outputGrad, layer->outputBytes);
  if (!isAway)
    writeTag(args->savedForWeightGrad, keptForW(layer), tag);
  writeTag(args->keptForWeightGrad, layer->inputGradKeepsBytes, tag);
  for (int32_t k = 0; k < layer->numInputs; ++k)
    writeTag(args->inputGrads[k], layer->inputBytes[k], tag);
  sleepUntil(deadlineNs);
}

void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const int64_t deadlineNs = nowNs() + layer->weightGradNs;
  uint64_t tag =
      mixTag(taskTag(layer, args), args->savedForWeightGrad, keptForW(layer));
  tag = mixTag(tag, args->keptForWeightGrad, layer->inputGradKeepsBytes);
  // Sums of numbers below 128 are exact for 131072 micro-batches.
  const int64_t touched = std::min<int64_t>(layer->weightBytes / 4, 64);
  float *gradients = at<float>(args->gradients, 0);
  for (int64_t i = 0; i < touched; ++i)
    gradients[i] +=
        static_cast<float>(static_cast<int64_t>(mix(tag, i) & 255) - 128);
  sleepUntil(deadlineNs);
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  TensorList list(out, capacity);
  if (layer->weightBytes >= 4)
    list.add(layer->name, "weight", TensorInit::Normal, 0,
             layer->weightBytes / 4);
  return list.size();
}

} // namespace

LayerBody syntheticBody() { return {forward, inputGrad, weightGrad, tensors}; }

} // namespace rondo::runtime
