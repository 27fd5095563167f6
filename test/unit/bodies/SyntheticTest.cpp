// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Synthetic layers: durations, and tags that reveal a damaged message.

#include "Model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

namespace rondo::runtime {
namespace {

LayerDesc syntheticLayer(const char *name) {
  LayerDesc layer{};
  layer.name = name;
  layer.kind = LayerKind::Synthetic;
  layer.activationBytes = 200;
  layer.inputGradFreesBytes = 100;
  layer.numInputs = 1;
  layer.inputBytes[0] = 1000;
  layer.outputBytes = 1000;
  layer.weightBytes = 400;
  return layer;
}

TEST(Synthetic, LastsAtLeastItsDuration) {
  LayerDesc layer{};
  layer.name = "timed";
  layer.kind = LayerKind::Synthetic;
  layer.forwardNs = 3000000;
  layer.inputGradNs = 50000;
  layer.weightGradNs = 400000;
  const LayerBody &body = cpuBody(layer.kind);
  LayerArgs args{};
  auto elapsed = [&](void (*task)(const LayerDesc *, const LayerArgs *)) {
    auto start = std::chrono::steady_clock::now();
    task(&layer, &args);
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start)
        .count();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(elapsed(body.forward), layer.forwardNs);
    EXPECT_GE(elapsed(body.inputGrad), layer.inputGradNs);
    EXPECT_GE(elapsed(body.weightGrad), layer.weightGradNs);
  }
}

/// Gradients of one layer after the micro-batches in `order`; `damage` changes
/// that byte of the first micro-batch's gradient message. `forgets`: what I
/// leaves for W is lost.
std::vector<float> gradientsOf(const LayerDesc &layer,
                               const std::vector<int> &order, int damage = -1,
                               bool forgets = false) {
  LayerSizes sizes = layerSizes(layer);
  const LayerBody &body = cpuBody(layer.kind);
  HostileBuffer<float> weights(sizes.weights), gradients(sizes.weights);
  weights.fill(1);
  gradients.fill(0);
  for (int microbatch : order) {
    HostileBuffer<float> forI(sizes.savedForInputGrad);
    HostileBuffer<float> forW(sizes.savedForWeightGrad);
    HostileBuffer<float> kept(sizes.keptForWeightGrad);
    HostileBuffer<float> input(sizes.input), output(sizes.output);
    HostileBuffer<float> outputGrad(sizes.output), inputGrad(sizes.input);
    input.fill(static_cast<float>(microbatch));
    outputGrad.fill(static_cast<float>(microbatch));
    if (damage >= 0 && microbatch == 0)
      reinterpret_cast<char *>(outputGrad.get())[damage] ^= 1;
    LayerArgs args{};
    args.weights = weights.get();
    args.savedForInputGrad = forI.get();
    args.savedForWeightGrad = forW.get();
    args.inputs[0] = input.get();
    args.output = output.get();
    args.outputGrad = outputGrad.get();
    args.inputGrads[0] = inputGrad.get();
    args.gradients = gradients.get();
    args.microbatch = microbatch;
    body.forward(&layer, &args);
    input.poison();
    args.keptForWeightGrad = kept.get();
    body.inputGrad(&layer, &args);
    forI.poison();
    if (forgets)
      kept.fill(0);
    outputGrad.poison();
    body.weightGrad(&layer, &args);
  }
  return {gradients.get(), gradients.get() + layer.weightBytes / 4};
}

TEST(Synthetic, AnyOrderGivesTheSameGradients) {
  LayerDesc layer = syntheticLayer("s");
  std::vector<float> gradients = gradientsOf(layer, {0, 1, 2, 3});
  EXPECT_EQ(gradients, gradientsOf(layer, {2, 0, 3, 1}));
  EXPECT_NE(gradients, gradientsOf(layer, {0, 1, 2, 2}));
  for (float value : gradients)
    EXPECT_EQ(value, std::floor(value));
}

TEST(Synthetic, WhatIKeepsShowsInTheGradients) {
  LayerDesc layer = syntheticLayer("s");
  layer.inputGradKeepsBytes = 200;
  const std::vector<float> gradients = gradientsOf(layer, {0, 1});
  EXPECT_EQ(gradientsOf(layer, {1, 0}), gradients);
  EXPECT_NE(gradientsOf(layer, {0, 1}, -1, /*forgets=*/true), gradients);
}

TEST(Synthetic, DamagedMessageShowsInTheGradients) {
  LayerDesc layer = syntheticLayer("s");
  std::vector<float> gradients = gradientsOf(layer, {0, 1});
  int64_t last = layerSizes(layer).output - 1;
  EXPECT_NE(gradients, gradientsOf(layer, {0, 1}, 0));
  EXPECT_NE(gradients, gradientsOf(layer, {0, 1}, static_cast<int>(last)));
}

TEST(Synthetic, EveryInputShowsInTheGradients) {
  LayerDesc layer = syntheticLayer("s");
  layer.numInputs = 2;
  layer.inputBytes[1] = 500;
  const LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.input, alignedBytes(1000) + alignedBytes(500));
  auto gradientsWith = [&](float first, float second) {
    const LayerBody &body = cpuBody(layer.kind);
    HostileBuffer<float> weights(sizes.weights), gradients(sizes.weights);
    HostileBuffer<float> forI(sizes.savedForInputGrad);
    HostileBuffer<float> forW(sizes.savedForWeightGrad);
    HostileBuffer<float> a(alignedBytes(1000)), b(alignedBytes(500));
    HostileBuffer<float> output(sizes.output);
    weights.fill(1);
    gradients.fill(0);
    a.fill(first);
    b.fill(second);
    LayerArgs args{};
    args.weights = weights.get();
    args.gradients = gradients.get();
    args.savedForInputGrad = forI.get();
    args.savedForWeightGrad = forW.get();
    args.inputs[0] = a.get();
    args.inputs[1] = b.get();
    args.output = output.get();
    args.outputGrad = output.get();
    body.forward(&layer, &args);
    args.inputGrads[0] = a.get();
    args.inputGrads[1] = b.get();
    body.inputGrad(&layer, &args);
    // Both get a message.
    EXPECT_NE(a.get()[0], first);
    EXPECT_NE(b.get()[0], second);
    body.weightGrad(&layer, &args);
    return std::vector<float>(gradients.get(),
                              gradients.get() + gradients.size());
  };
  const std::vector<float> some = gradientsWith(1, 2);
  EXPECT_EQ(gradientsWith(1, 2), some);
  EXPECT_NE(gradientsWith(3, 2), some);
  EXPECT_NE(gradientsWith(1, 3), some);
  EXPECT_NE(gradientsWith(2, 1), some);
}

TEST(Synthetic, EmptyBuffersAreNotTouched) {
  LayerDesc layer{};
  layer.name = "empty";
  layer.kind = LayerKind::Synthetic;
  LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.weights + sizes.savedForInputGrad + sizes.savedForWeightGrad +
                sizes.input + sizes.output + sizes.workspace + sizes.data,
            0);
  EXPECT_TRUE(layerTensors(layer).empty());
  // The bytes at the address of an empty buffer belong to another buffer.
  constexpr char mine = 0x5a;
  alignas(64) char other[256];
  std::fill(std::begin(other), std::end(other), mine);
  char *there = other + 128;
  LayerArgs args{};
  args.weights = args.inputs[0] = args.outputGrad = there;
  args.savedForInputGrad = args.savedForWeightGrad = there;
  args.keptForWeightGrad = there;
  args.gradients = args.output = args.inputGrads[0] = there;
  args.microbatch = 3;
  const LayerBody &body = cpuBody(layer.kind);
  body.forward(&layer, &args);
  body.inputGrad(&layer, &args);
  body.weightGrad(&layer, &args);
  EXPECT_EQ(std::count(std::begin(other), std::end(other), mine),
            static_cast<int64_t>(sizeof other));
}

} // namespace
} // namespace rondo::runtime
