//===- embedding_layer.cpp - The tasks of an embedding on CUDA ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {

namespace {

template <typename T>
void forward(const LayerDesc *layer, const LayerArgs *args) {
  const runtime::EmbeddingWeights at(*layer);
  const EmbeddingSavedForW saved(*layer);
  const WeightsView<T> weights(*args, at.all.size());
  embeddingForward(streamOf(*args), Documents(*layer, *args), layer->hidden,
                   args->data, weights[at.token],
                   isLlama(*layer) ? nullptr : weights[at.position],
                   region<int32_t>(savedForWeightGrad(*args, saved.tokens)),
                   static_cast<T *>(args->output));
}

template <typename T>
void inputGrad(const LayerDesc *layer, const LayerArgs *args) {
  const EmbeddingSavedForW saved(*layer);
  RONDO_CUDA(cudaMemcpyAsync(
      region<T>(savedForWeightGrad(*args, saved.outputGrad)), args->outputGrad,
      numTokens(*layer) * layer->hidden * sizeof(T), cudaMemcpyDeviceToDevice,
      streamOf(*args).handle));
}

template <typename T>
void weightGrad(const LayerDesc *layer, const LayerArgs *args) {
  const runtime::EmbeddingWeights at(*layer);
  const EmbeddingSavedForW saved(*layer);
  auto *gradients = static_cast<float *>(args->gradients);
  embeddingWeightGrad<T>(
      streamOf(*args), Documents(*layer, *args), maxDocumentTokens(*layer),
      layer->hidden, region<int32_t>(savedForWeightGrad(*args, saved.tokens)),
      region<T>(savedForWeightGrad(*args, saved.outputGrad)),
      gradients + at.token,
      isLlama(*layer) ? nullptr : gradients + at.position);
}

} // namespace

template <typename T> LayerBody embeddingBody() {
  return {forward<T>, inputGrad<T>, weightGrad<T>,
          cpuBody(LayerKind::GptEmbedding).tensors};
}
template LayerBody embeddingBody<float>();
template LayerBody embeddingBody<Bf16>();

} // namespace rondo::runtime::cuda
