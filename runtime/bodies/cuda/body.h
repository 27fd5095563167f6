//===- body.h - The bodies of CUDA ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_BODY_H
#define RONDO_RUNTIME_BODIES_CUDA_BODY_H

#include "runtime/bodies/body.h"

namespace rondo::runtime {

/// The computation of a layer whose activations are of that type. LayerArgs
/// point to device memory, its stream to a cuda::Stream with Gemms. Tasks only
/// enqueue: after the first of a shape they call nothing that a graph cannot
/// record. They throw Error where that fails.
const LayerBody &cudaBody(LayerKind kind, DType dtype);

namespace cuda {
LayerBody syntheticBody();
LayerBody customBody();
} // namespace cuda

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_CUDA_BODY_H
