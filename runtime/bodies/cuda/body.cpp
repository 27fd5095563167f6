//===- body.cpp - The body of each layer kind on CUDA ---------------------===//

#include "runtime/bodies/cuda/body.h"

#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime {

namespace {

template <typename T> const LayerBody &bodyOf(LayerKind kind) {
  static const LayerBody embedding = cuda::embeddingBody<T>();
  static const LayerBody block = cuda::blockBody<T>();
  static const LayerBody head = cuda::headBody<T>();
  static const LayerBody synthetic = cuda::syntheticBody();
  switch (kind) {
  case LayerKind::GptEmbedding:
    return embedding;
  case LayerKind::GptBlock:
    return block;
  case LayerKind::GptHead:
    return head;
  case LayerKind::Synthetic:
    break;
  }
  return synthetic;
}

} // namespace

const LayerBody &cudaBody(LayerKind kind, DType dtype) {
  return dtype == DType::Bf16 ? bodyOf<cuda::Bf16>(kind) : bodyOf<float>(kind);
}

} // namespace rondo::runtime
