//===- tensors.cpp - Global names and initial values of tensors -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/tensors.h"

#include "runtime/base/random.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {

std::vector<LayerTensor> layerTensors(const LayerDesc &layer) {
  const LayerBody &body = cpuBody(layer.kind);
  std::vector<LayerTensor> tensors(body.tensors(&layer, nullptr, 0));
  body.tensors(&layer, tensors.data(), static_cast<int32_t>(tensors.size()));
  return tensors;
}

std::string tensorName(const LayerTensor &tensor) {
  if (!tensor.prefix)
    return tensor.suffix;
  return std::string(tensor.prefix) + "." + tensor.suffix;
}

std::optional<LayerTensor> findRunning(const LayerDesc &layer) {
  for (const LayerTensor &tensor : layerTensors(layer))
    if (tensor.isRunning)
      return tensor;
  return std::nullopt;
}

std::vector<int64_t> shapeOf(const LayerTensor &tensor) {
  return std::vector<int64_t>(tensor.shape, tensor.shape + tensor.numDims);
}

namespace {

/// Value `index` of a stream, roughly normal with mean 0 and deviation 1: the
/// sum of 12 uniform 16-bit numbers (mean 12 * 65535 / 2, deviation 65536).
double normalValue(uint64_t stream, uint64_t index) {
  int64_t sum = 0;
  for (uint64_t word = 0; word < 3; ++word) {
    uint64_t bits = mix(stream, 3 * index + word);
    sum += (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
           (bits >> 48);
  }
  return static_cast<double>(sum - 393210) / 65536;
}

} // namespace

void initialiseTensor(const LayerTensor &tensor, uint64_t seed,
                      int32_t numBlocks, float *weights) {
  float *values = weights + tensor.offset;
  if (tensor.init == TensorInit::Zeros || tensor.init == TensorInit::Ones) {
    std::fill_n(values, tensor.count,
                tensor.init == TensorInit::Ones ? 1.0f : 0.0f);
    return;
  }
  double deviation = 0.02;
  if (tensor.init == TensorInit::ResidualNormal)
    deviation /= std::sqrt(2.0 * (numBlocks < 1 ? 1 : numBlocks));
  uint64_t stream = mix(seed, hashName(tensorName(tensor).c_str()));
  for (int64_t i = 0; i < tensor.count; ++i)
    values[i] = static_cast<float>(deviation * normalValue(stream, i));
}

} // namespace rondo::runtime
