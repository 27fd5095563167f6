//===- body.cpp - The body of each layer kind on CUDA ---------------------===//

#include "runtime/bodies/cuda/body.h"

#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime {

template <typename T> static const LayerBody &bodyOf(LayerKind kind) {
  static const LayerBodies bodies = {cuda::embeddingBody<T>(),
                                     cuda::blockBody<T>(), cuda::headBody<T>(),
                                     cuda::syntheticBody()};
  return bodies.of(kind);
}

const LayerBody &cudaBody(LayerKind kind, DType dtype) {
  return dtype == DType::Bf16 ? bodyOf<cuda::Bf16>(kind) : bodyOf<float>(kind);
}

} // namespace rondo::runtime
