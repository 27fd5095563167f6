//===- body.h - The CUDA bodies ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_BODY_H
#define RONDO_RUNTIME_BODIES_CUDA_BODY_H

#include "runtime/bodies/body.h"

namespace rondo::runtime {

/// The computation of a layer whose activations have this type. LayerArgs
/// points to device memory; its stream is a cuda::Stream with Gemms. Tasks only
/// enqueue: after the first one of a shape they call nothing that a graph
/// cannot record. They throw Error if that fails.
const LayerBody &cudaBody(LayerKind kind, DType dtype);

namespace cuda {
LayerBody syntheticBody();
} // namespace cuda

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_CUDA_BODY_H
