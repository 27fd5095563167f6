//===- body.h - The bodies of a GPU -----------------------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_BODY_H
#define RONDO_RUNTIME_BODIES_CUDA_BODY_H

#include "runtime/bodies/body.h"

namespace rondo::runtime {

/// Bodies that enqueue their work; LayerArgs::stream points to a cuda::Stream.
/// Throws Error where there is none of that kind and dtype.
const LayerBody &cudaBody(LayerKind kind, DType dtype);

namespace cuda {
LayerBody syntheticBody();
} // namespace cuda

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_CUDA_BODY_H
