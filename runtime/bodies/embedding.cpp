//===- embedding.cpp - Token and position embedding -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Llama's has no positions.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/vectorise.h"
#include "runtime/bodies/layers.h"
#include "runtime/model/layouts.h"

#include <algorithm>
#include <cstring>

namespace rondo::runtime {

namespace {

template <typename Real>
RONDO_VECTORISE void addRow(int64_t count, const Real *__restrict from,
                            Real *__restrict to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

template <typename Real>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const EmbeddingWeights weights(*layer);
  const EmbeddingSavedForW saved(*layer);
  const int64_t hidden = layer->hidden;
  std::memcpy(at<Real>(savedForWeightGrad(*args, saved.tokens)), args->data,
              numTokens(*layer) * sizeof(int32_t));
  const Real *token = at<Real>(args->weights, weights.token);
  const Real *position = at<Real>(args->weights, weights.position);
  Real *output = at<Real>(args->output, 0);
  const TaskDocuments documents(*layer, *args);
  for (int64_t t = 0; t < numTokens(*layer); ++t) {
    const Real *row = token + args->data[t] * hidden;
    std::copy(row, row + hidden, output + t * hidden);
    if (!isLlama(*layer))
      addRow(hidden, position + documents.placeOf(t) * hidden,
             output + t * hidden);
  }
}

template <typename Real>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const EmbeddingSavedForW saved(*layer);
  const Real *grad = at<Real>(args->outputGrad, 0);
  std::copy(grad, grad + numTokens(*layer) * layer->hidden,
            at<Real>(savedForWeightGrad(*args, saved.outputGrad)));
}

template <typename Real>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const EmbeddingWeights weights(*layer);
  const EmbeddingSavedForW saved(*layer);
  const int64_t hidden = layer->hidden;
  const char *tokens = reinterpret_cast<const char *>(
      at<Real>(savedForWeightGrad(*args, saved.tokens)));
  const Real *grad = at<Real>(savedForWeightGrad(*args, saved.outputGrad));
  Real *tokenGrad = at<Real>(args->gradients, weights.token);
  Real *positionGrad = at<Real>(args->gradients, weights.position);
  const TaskDocuments documents(*layer, *args);
  for (int64_t t = 0; t < numTokens(*layer); ++t) {
    int32_t token;
    std::memcpy(&token, tokens + t * sizeof(token), sizeof(token));
    addRow(hidden, grad + t * hidden, tokenGrad + token * hidden);
    if (!isLlama(*layer))
      addRow(hidden, grad + t * hidden,
             positionGrad + documents.placeOf(t) * hidden);
  }
}

int32_t tensors(const LayerDesc *layer, LayerTensor *out, int32_t capacity) {
  const EmbeddingWeights weights(*layer);
  TensorList list(out, capacity);
  list.add(nullptr, tokenWeightName(isLlama(*layer)), TensorInit::Normal,
           weights.token, layer->vocab, layer->hidden);
  if (!isLlama(*layer))
    list.add(nullptr, "wpe.weight", TensorInit::Normal, weights.position,
             layer->sequence, layer->hidden);
  return list.size();
}

} // namespace

template <typename Real> LayerBody embeddingBody() {
  return {forward<Real>, inputGrad<Real>, weightGrad<Real>, tensors};
}
template LayerBody embeddingBody<float>();
template LayerBody embeddingBody<double>();

} // namespace rondo::runtime
