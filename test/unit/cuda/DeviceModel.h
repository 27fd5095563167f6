//===- DeviceModel.h - A chain of layers on a device ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like Model.h: a task gets only the buffers that it may use, everything is NaN
// where content must not matter, and a guard follows every buffer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CUDA_DEVICEMODEL_H
#define RONDO_TEST_UNIT_CUDA_DEVICEMODEL_H

#include "DeviceTest.h"

#include "runtime/bodies/cuda/layers.h"
#include "runtime/model/cuda_layouts.h"
#include "runtime/optimizer/cuda.h"

namespace rondo::runtime::cuda {

using Bytes = DeviceArray<char>;

template <typename T> class DeviceModel {
public:
  /// Uses the layers, weights, inputs, documents and loss scale of `reference`.
  DeviceModel(const Stream &stream, const Model<double> &reference,
              int microbatches)
      : reference(reference), layers(reference.layers), stream(stream),
        starts(reference.starts) {
    for (size_t l = 0; l < layers.size(); ++l) {
      layers[l].target = Target::Cuda;
      layers[l].dtype = dtypeOf<T>();
      const LayerSizes sizes = layerSizes(layers[l]);
      weights.push_back(std::make_unique<Bytes>(sizes.weights));
      gradients.push_back(std::make_unique<Bytes>(sizes.gradients));
      gradients.back()->clear();
      workspaces.push_back(std::make_unique<Bytes>(sizes.workspace));
      savedForI.emplace_back();
      savedForW.emplace_back();
      for (int i = 0; i < microbatches; ++i) {
        savedForI[l].push_back(
            std::make_unique<Bytes>(sizes.savedForInputGrad));
        savedForW[l].push_back(
            std::make_unique<Bytes>(sizes.savedForWeightGrad));
      }
      activations.push_back(std::make_unique<Bytes>(sizes.input));

      const double *values = reference.weights[l]->get();
      std::vector<float> masters(values, values + sizes.gradients / 4);
      writeDevice(weights[l]->get(), masters.data(), sizes.gradients);
      if (sizeof(T) == 2)
        toBf16(stream, reinterpret_cast<const float *>(weights[l]->get()),
               reinterpret_cast<Bf16 *>(weights[l]->get() + sizes.gradients),
               masters.size());
    }
    activations.push_back(
        std::make_unique<Bytes>(layerSizes(layers.back()).output));
    // The copies were enqueued; other ways of filling memory must not overtake
    // them.
    wait();
  }

  /// Runs F of all layers; returns the head's loss.
  double forward(int microbatch) {
    const int64_t tokens = numTokens(layers[0]);
    DeviceArray<float> loss(1);
    if (activations[0]->bytes() > 0)
      write(*activations[0],
            [&](int64_t i) { return reference.inputAt(microbatch, i); });
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<int32_t> ids(tokens);
      for (int64_t t = 0; t < tokens && layers[l].vocab > 0; ++t)
        ids[t] = reference.dataAt(l, microbatch, t + reference.firstToken);
      DeviceArray<int32_t> data(ids);
      workspaces[l]->poison();
      savedForI[l][microbatch]->poison();
      savedForW[l][microbatch]->poison();
      activations[l + 1]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.savedForInputGrad = savedForI[l][microbatch]->get();
      args.inputs[0] = activations[l]->get();
      args.output = activations[l + 1]->get();
      args.data = data.get();
      args.loss = loss.get();
      args.lossScale = reference.lossScale;
      bodyOf(l).forward(&layers[l], &args);
      wait();
      activations[l]->poison();
    }
    return hasLoss(layers.back()) ? loss.read()[0] : 0;
  }

  std::vector<T> output() const { return elements(*activations.back()); }

  /// Runs I of all layers; returns the gradient of the first layer's input,
  /// empty for an embedding.
  std::vector<T> inputGrad(int microbatch) {
    if (activations.back()->bytes() > 0)
      write(*activations.back(), [&](int64_t i) {
        return reference.lossScale * reference.outputGradAt(microbatch, i);
      });
    for (size_t l = layers.size(); l-- > 0;) {
      workspaces[l]->poison();
      activations[l]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.savedForInputGrad = savedForI[l][microbatch]->get();
      args.outputGrad = activations[l + 1]->get();
      args.inputGrads[0] =
          activations[l]->bytes() > 0 ? activations[l]->get() : nullptr;
      bodyOf(l).inputGrad(&layers[l], &args);
      wait();
      activations[l + 1]->poison();
      savedForI[l][microbatch]->poison();
    }
    return elements(*activations[0]);
  }

  /// Runs W of all layers.
  void weightGrad(int microbatch) {
    for (size_t l = 0; l < layers.size(); ++l) {
      workspaces[l]->poison();
      LayerArgs args = argsOf(l, microbatch);
      args.gradients = gradients[l]->get();
      bodyOf(l).weightGrad(&layers[l], &args);
      wait();
      savedForW[l][microbatch]->poison();
    }
  }

  /// Gradients of all weights of a layer, including padding.
  std::vector<float> gradientsOf(size_t layer) const {
    std::vector<char> bytes = gradients[layer]->read();
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  const Bytes &keptForW(size_t layer, int microbatch) const {
    return *savedForW[layer][microbatch];
  }

  const Model<double> &reference;
  std::vector<LayerDesc> layers;

private:
  const LayerBody &bodyOf(size_t l) const {
    return cudaBody(layers[l].kind, layers[l].dtype);
  }
  LayerArgs argsOf(size_t l, int microbatch) {
    LayerArgs args{};
    args.weights = weights[l]->get();
    args.savedForWeightGrad = savedForW[l][microbatch]->get();
    args.workspace = workspaces[l]->get();
    args.microbatch = microbatch;
    args.stream = const_cast<Stream *>(&stream);
    if (!reference.starts.empty()) {
      args.documentStarts = starts.get();
      args.numDocuments = static_cast<int32_t>(reference.starts.size()) - 1;
    }
    return args;
  }
  void wait() { RONDO_CUDA(cudaStreamSynchronize(stream.handle)); }

  int64_t numElements() const {
    return numTokens(layers[0]) * layers[0].hidden;
  }
  template <typename Value> void write(Bytes &buffer, Value value) {
    std::vector<T> values(numElements());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = rounded<T>(value(i));
    writeDevice(buffer.get(), values.data(), values.size() * sizeof(T));
  }
  std::vector<T> elements(const Bytes &buffer) const {
    std::vector<T> values(buffer.bytes() > 0 ? numElements() : 0);
    RONDO_CUDA(cudaMemcpy(values.data(), buffer.get(),
                          values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

  using Buffers = std::vector<std::unique_ptr<Bytes>>;
  const Stream &stream;
  DeviceArray<int32_t> starts;
  Buffers weights, gradients, workspaces, activations;
  std::vector<Buffers> savedForI, savedForW;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_TEST_UNIT_CUDA_DEVICEMODEL_H
