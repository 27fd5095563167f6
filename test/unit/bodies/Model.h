//===- Model.h - A chain of layers with hostile buffers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs layers on micro-batches and holds them to the contract of body.h: a task
// gets only the buffers that it may use, buffers whose content must not matter
// are filled with NaN, and each is followed by bytes that must not change.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_BODIES_MODEL_H
#define RONDO_TEST_UNIT_BODIES_MODEL_H

#include "runtime/base/random.h"
#include "runtime/bodies/tensors.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// GPT sizes of a test.
struct Sizes {
  int32_t batch, sequence, hidden, heads, ffn, vocab;
};

inline LayerDesc gptLayer(LayerKind kind, const char *name,
                          const Sizes &sizes) {
  LayerDesc layer{};
  layer.name = name;
  layer.kind = kind;
  layer.vocab = sizes.vocab;
  layer.sequence = sizes.sequence;
  layer.hidden = sizes.hidden;
  layer.heads = sizes.heads;
  layer.ffn = sizes.ffn;
  layer.batch = sizes.batch;
  return layer;
}

inline std::vector<LayerDesc> gptModel(const Sizes &sizes) {
  return {gptLayer(LayerKind::GptEmbedding, "wte", sizes),
          gptLayer(LayerKind::GptBlock, "h0", sizes),
          gptLayer(LayerKind::GptBlock, "h1", sizes),
          gptLayer(LayerKind::GptHead, "lm_head", sizes)};
}

/// Uniform in [-1, 1), by stream and index.
inline double uniform(uint64_t stream, int64_t index) {
  return static_cast<double>(mix(stream, index) >> 11) * 0x1p-52 - 1;
}

/// Aligned memory followed by a guard.
template <typename Real> class HostileBuffer {
public:
  explicit HostileBuffer(int64_t bytes)
      : count(bytes / static_cast<int64_t>(sizeof(Real))),
        memory(static_cast<Real *>(
                   std::aligned_alloc(bufferAlignment, bytes + guardBytes)),
               std::free) {
    poison();
    for (int64_t i = 0; i < guardCount; ++i)
      memory.get()[count + i] = guard;
  }
  ~HostileBuffer() {
    for (int64_t i = 0; i < guardCount; ++i)
      EXPECT_EQ(memory.get()[count + i], guard) << "written past a buffer";
  }
  HostileBuffer(HostileBuffer &&) = delete;

  void fill(Real value) { std::fill(get(), get() + count, value); }
  void poison() { fill(std::numeric_limits<Real>::quiet_NaN()); }
  Real *get() { return memory.get(); }
  int64_t size() const { return count; }

private:
  static constexpr int64_t guardBytes = 4 * bufferAlignment;
  static constexpr int64_t guardCount = guardBytes / sizeof(Real);
  static constexpr Real guard = 1234567;
  int64_t count;
  std::unique_ptr<Real, decltype(&std::free)> memory;
};

template <typename Real> class Model {
public:
  /// Saved values of one layer and one micro-batch.
  struct Saved {
    Saved(const LayerSizes &sizes, int64_t scale)
        : forI(scale * sizes.savedForInputGrad),
          forW(scale * sizes.savedForWeightGrad) {}
    HostileBuffer<Real> forI, forW;
  };

  /// `starts`: of the documents of a row; empty: micro-batches are samples.
  Model(std::vector<LayerDesc> layers, int microbatches, double lossScale,
        std::vector<int32_t> starts = {})
      : layers(std::move(layers)), lossScale(lossScale),
        starts(std::move(starts)) {
    // layerSizes() counts fp32.
    constexpr int64_t scale = sizeof(Real) / sizeof(float);
    for (const LayerDesc &layer : this->layers) {
      LayerSizes sizes = layerSizes(layer);
      weights.push_back(
          std::make_unique<HostileBuffer<Real>>(scale * sizes.weights));
      gradients.push_back(
          std::make_unique<HostileBuffer<Real>>(scale * sizes.weights));
      workspaces.push_back(
          std::make_unique<HostileBuffer<Real>>(scale * sizes.workspace));
      saved.emplace_back();
      for (int i = 0; i < microbatches; ++i)
        saved.back().push_back(std::make_unique<Saved>(sizes, scale));
      activations.push_back(
          std::make_unique<HostileBuffer<Real>>(scale * sizes.input));
    }
    activations.push_back(std::make_unique<HostileBuffer<Real>>(
        scale * layerSizes(this->layers.back()).output));
    clearGradients();
  }

  /// Runs F of all layers on a micro-batch and returns its loss: the head's, or
  /// the products of the last output and outputGradAt(). Not scaled.
  double forward(int microbatch) {
    const LayerDesc &first = layers.front();
    const int64_t tokens = numTokens(first);
    HostileBuffer<Real> &input = *activations.front();
    for (int64_t i = 0; i < input.size(); ++i)
      input.get()[i] = i < tokens * first.hidden ? inputAt(microbatch, i) : 0;
    Real loss = 0;
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<int32_t> data(tokens);
      for (int64_t t = 0; t < tokens; ++t)
        data[t] = dataAt(l, microbatch, t + firstToken);
      workspaces[l]->poison();
      saved[l][microbatch]->forI.poison();
      saved[l][microbatch]->forW.poison();
      activations[l + 1]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.savedForInputGrad = saved[l][microbatch]->forI.get();
      args.inputs[0] = activations[l]->get();
      args.output = activations[l + 1]->get();
      args.data = data.data();
      args.loss = &loss;
      args.lossScale = lossScale;
      body(l).forward(&layers[l], &args);
      activations[l]->poison();
    }
    if (hasLoss(layers.back()))
      return loss;
    double sum = 0;
    for (int64_t i = 0; i < tokens * first.hidden; ++i)
      sum += activations.back()->get()[i] * outputGradAt(microbatch, i);
    return sum;
  }

  /// Runs I of all layers; returns the gradient of the first layer's input,
  /// empty for an embedding.
  std::vector<Real> inputGrad(int microbatch) {
    const int64_t count = numTokens(layers[0]) * layers[0].hidden;
    // Only unpadded elements: the rest of a message has no meaning.
    HostileBuffer<Real> &last = *activations.back();
    for (int64_t i = 0; i < last.size() && i < count; ++i)
      last.get()[i] =
          static_cast<Real>(lossScale * outputGradAt(microbatch, i));
    for (size_t l = layers.size(); l-- > 0;) {
      workspaces[l]->poison();
      activations[l]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.savedForInputGrad = saved[l][microbatch]->forI.get();
      args.outputGrad = activations[l + 1]->get();
      args.inputGrads[0] =
          activations[l]->size() ? activations[l]->get() : nullptr;
      body(l).inputGrad(&layers[l], &args);
      activations[l + 1]->poison();
      saved[l][microbatch]->forI.poison();
    }
    if (activations[0]->size() == 0)
      return {};
    return {activations[0]->get(), activations[0]->get() + count};
  }

  /// Runs W of all layers.
  void weightGrad(int microbatch) {
    for (size_t l = 0; l < layers.size(); ++l) {
      workspaces[l]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.gradients = gradients[l]->get();
      body(l).weightGrad(&layers[l], &args);
      saved[l][microbatch]->forW.poison();
    }
  }

  void clearGradients() {
    for (auto &gradient : gradients)
      gradient->fill(0);
  }

  /// Weights without special values: no bias is 0 and no gain is 1.
  void setRandomWeights() {
    for (size_t l = 0; l < layers.size(); ++l) {
      weights[l]->fill(0);
      for (const LayerTensor &tensor : layerTensors(layers[l]))
        for (int64_t i = 0; i < tensor.count; ++i)
          weights[l]->get()[tensor.offset + i] = static_cast<float>(
              (tensor.init == TensorInit::Ones ? 1 : 0) +
              0.4 * uniform(hashName(tensorName(tensor).c_str()), i));
    }
  }

  /// The last layer's output, until inputGrad().
  const Real *output() const { return activations.back()->get(); }

  /// Input of a first layer that is not an embedding. `inputShift` is added to
  /// element `shiftedInput`.
  Real inputAt(int microbatch, int64_t i) const {
    return static_cast<Real>(static_cast<float>(uniform(77 + microbatch, i))) +
           (i == shiftedInput ? inputShift : 0);
  }
  /// Token or target of a layer.
  int32_t dataAt(size_t layer, int microbatch, int64_t token) const {
    return static_cast<int32_t>(mix(1000 * microbatch + layer, token) %
                                layers[layer].vocab);
  }
  /// Gradient of the loss for the last output if there is no head.
  static double outputGradAt(int microbatch, int64_t i) {
    return uniform(99 + microbatch, i);
  }

  std::vector<LayerDesc> layers;
  double lossScale;
  std::vector<int32_t> starts;
  /// Data are those from here on.
  int64_t firstToken = 0;
  std::vector<std::unique_ptr<HostileBuffer<Real>>> weights, gradients;
  int64_t shiftedInput = -1;
  Real inputShift = 0;

private:
  const LayerBody &body(size_t l) const {
    return sizeof(Real) == sizeof(float) ? cpuBody(layers[l].kind)
                                         : cpuBodyFp64(layers[l].kind);
  }

  /// Arguments of every task.
  LayerArgs argsOf(size_t l, int microbatch) {
    LayerArgs args{};
    args.weights = weights[l]->get();
    args.savedForWeightGrad = saved[l][microbatch]->forW.get();
    args.workspace = workspaces[l]->get();
    args.microbatch = microbatch;
    if (!starts.empty()) {
      args.documentStarts = starts.data();
      args.numDocuments = static_cast<int32_t>(starts.size()) - 1;
    }
    return args;
  }

  std::vector<std::unique_ptr<HostileBuffer<Real>>> workspaces, activations;
  std::vector<std::vector<std::unique_ptr<Saved>>> saved;
};

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_BODIES_MODEL_H
