//===- Checks.h - Checks shared by tests of several sizes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CUDA_CHECKS_H
#define RONDO_TEST_UNIT_CUDA_CHECKS_H

#include "DeviceModel.h"

#include "runtime/bodies/attention.h"
#include "runtime/bodies/cuda/attention.h"

#include <map>

namespace rondo::runtime::cuda {

/// Weights that T represents exactly, so that only the computation differs.
/// Matrices are small enough for a softmax that does not magnify rounding
/// errors of its input.
template <typename T>
void setWeights(Model<double> &model, double scale = 0.25) {
  model.setRandomWeights();
  for (size_t l = 0; l < model.layers.size(); ++l) {
    double *weights = model.weights[l]->get();
    for (const LayerTensor &tensor : layerTensors(model.layers[l]))
      for (int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
        weights[i] =
            number(rounded<T>(weights[i] * (tensor.decay ? scale : 1)));
  }
}

inline std::vector<double> first(const double *values, size_t count) {
  return {values, values + count};
}

/// Errors are compared with the largest gradient of the tensors of one group: a
/// GPT's q, k and v are one tensor, a Llama's are three, of which the gradients
/// of k are sums that almost cancel.
inline std::string groupOf(const LayerTensor &tensor) {
  std::string name = tensorName(tensor);
  for (const char *part : {"q_proj", "k_proj", "v_proj", "q_norm", "k_norm"})
    if (const size_t at = name.find(part); at != std::string::npos)
      return name.replace(at, 1, "*");
  return name;
}

/// F, I and W against double precision, for two micro-batches whose W come late
/// and add up. Matrices have elements below `scale`. `starts`: of the documents
/// of a row.
template <typename T>
void checkModel(const Stream &stream, const std::vector<LayerDesc> &layers,
                const std::string &what, double scale = 0.25,
                const std::vector<int32_t> &starts = {}) {
  Model<double> reference(layers, 2, 0.5, starts);
  setWeights<T>(reference, scale);
  DeviceModel<T> model(stream, reference, 2);
  // Rounding errors add up over the layers.
  const double part = tolerance<T>() * (layers.size() > 1 ? 3 : 1.5);
  for (int i = 0; i < 2; ++i) {
    double expected = reference.forward(i), loss = model.forward(i);
    if (hasLoss(layers.back())) {
      EXPECT_NEAR(loss, expected, part * std::abs(expected)) << what;
    } else {
      auto output = model.output();
      expectClose(output, first(reference.output(), output.size()), part,
                  what + ": output");
    }
    std::vector<double> grad = reference.inputGrad(i);
    expectClose(model.inputGrad(i), grad, part, what + ": input gradient");
  }
  for (int i = 0; i < 2; ++i) {
    reference.weightGrad(i);
    model.weightGrad(i);
  }
  for (size_t l = 0; l < layers.size(); ++l) {
    std::vector<float> gradients = model.gradientsOf(l);
    const double *expected = reference.gradients[l]->get();
    std::map<std::string, std::pair<std::vector<float>, std::vector<double>>>
        groups;
    for (const LayerTensor &tensor : layerTensors(layers[l])) {
      auto &[actual, right] = groups[groupOf(tensor)];
      auto begin = gradients.begin() + tensor.offset;
      actual.insert(actual.end(), begin, begin + tensor.count);
      right.insert(right.end(), expected + tensor.offset,
                   expected + tensor.offset + tensor.count);
    }
    for (const auto &[name, group] : groups)
      expectClose(group.first, group.second, part,
                  what + ": gradient of " + name);
  }

  // The same bits again, with the tasks in another order.
  DeviceModel<T> again(stream, reference, 2);
  for (int i = 0; i < 2; ++i) {
    again.forward(i);
    again.inputGrad(i);
    again.weightGrad(i);
  }
  for (size_t l = 0; l < layers.size(); ++l)
    EXPECT_TRUE(same(model.gradientsOf(l), again.gradientsOf(l)))
        << what << ": layer " << l;
}

/// Elements of q, k and v side by side, without the gaps between them.
template <typename T>
std::vector<T> withoutGaps(const AttentionShape &shape,
                           const std::vector<T> &qkv) {
  const int64_t queries = shape.hidden();
  const int64_t keys = int64_t(shape.kvHeads) * shape.width;
  std::vector<T> dense;
  for (auto row = qkv.begin(); row != qkv.end(); row += shape.stride)
    for (auto [first, count] : {std::pair{int64_t(0), queries},
                                {shape.keys, keys},
                                {shape.values, keys}})
      dense.insert(dense.end(), row + first, row + first + count);
  return dense;
}

/// Forward and backward against double precision. With `starts`, the shape is
/// one sample, in which documents begin there.
template <typename T>
void checkAttention(const Stream &stream, AttentionShape shape,
                    const std::vector<int32_t> &starts = {}) {
  const int64_t tokens = shape.tokens(), hidden = shape.hidden();
  const int64_t statistics = tokens * shape.heads;
  LayerDesc layer{};
  layer.batch = shape.documents.count;
  layer.sequence = shape.documents.sequence;
  LayerArgs args{};
  const DeviceArray<int32_t> onStarts(starts);
  if (!starts.empty()) {
    layer.rowTokens = layer.sequence;
    args.numDocuments = static_cast<int32_t>(starts.size()) - 1;
    args.documentStarts = onStarts.get();
    shape.documents = Documents(layer, args);
    args.documentStarts = starts.data();
  }
  layer.heads = shape.heads;
  layer.hidden = static_cast<int32_t>(hidden);
  layer.llama.kvHeads = shape.kvHeads;
  layer.llama.headWidth = shape.width;
  std::vector<T> qkv(tokens * shape.stride);
  for (size_t i = 0; i < qkv.size(); ++i)
    qkv[i] = rounded<T>(2 * uniform(1, i));
  auto outputGrad = randoms<T>(2, tokens * hidden);
  std::vector<double> output(tokens * hidden), sums(statistics);
  std::vector<double> grad = doubles(withoutGaps(shape, qkv));
  std::vector<double> scratch(AttentionWorkspace(layer).all.size());
  const TaskDocuments documents(layer, args);
  runtime::attentionForward<double>(documents, grad.data(), output.data(),
                                    sums.data(), scratch.data());
  runtime::attentionInputGrad<double>(documents, grad.data(), output.data(),
                                      doubles(outputGrad).data(), sums.data(),
                                      scratch.data());

  DeviceArray<T> onQkv(qkv), onOutput(tokens * hidden), onGrad(outputGrad);
  DeviceArray<T> queryGrad(tokens * hidden);
  DeviceArray<float> onSums(statistics), rowDots(statistics);
  attentionForward<T>(stream, shape, onQkv.get(), onOutput.get(), onSums.get());
  RONDO_CUDA(cudaStreamSynchronize(stream.handle));
  const std::string size = " of " + std::to_string(shape.documents.count) +
                           " x " + std::to_string(shape.documents.sequence) +
                           ", " + std::to_string(shape.heads) + " heads of " +
                           std::to_string(shape.width) + ", " +
                           std::to_string(shape.kvHeads) + " of keys";
  expectClose(onOutput.read(), output, tolerance<T>(), "output" + size);
  expectClose(onSums.read(), sums, 1e-5, "log-sum-exp" + size);
  std::vector<T> first;
  for (int i = 0; i < 2; ++i) {
    onQkv.write(qkv);
    queryGrad.poison();
    rowDots.poison();
    attentionInputGrad<T>(stream, shape, onQkv.get(), onOutput.get(),
                          onGrad.get(), onSums.get(), queryGrad.get(),
                          rowDots.get());
    RONDO_CUDA(cudaStreamSynchronize(stream.handle));
    if (i == 0)
      first = onQkv.read();
  }
  EXPECT_TRUE(same(first, onQkv.read())) << "other bits the second time";
  expectClose(withoutGaps(shape, first), grad, tolerance<T>(),
              "gradients" + size);
}

} // namespace rondo::runtime::cuda

#endif // RONDO_TEST_UNIT_CUDA_CHECKS_H
