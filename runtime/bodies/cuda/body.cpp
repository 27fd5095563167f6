//===- body.cpp - The body of each layer kind on a GPU --------------------===//

#include "runtime/bodies/cuda/body.h"

#include "runtime/error.h"

using namespace rondo::runtime;

const LayerBody &rondo::runtime::cudaBody(LayerKind kind, DType) {
  static const LayerBody synthetic = cuda::syntheticBody();
  if (kind == LayerKind::Synthetic)
    return synthetic;
  throw Error("there is no body of a gpt layer for a GPU");
}
