//===- rotary.h - Norms and rotary positions of heads, on CUDA --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on the heads of q and k between their projections and attention,
// in place: rotate() of bodies/attention.h, and before it, if the layer has
// norms of heads, that of bodies/norm.h on each head. Limit: one pass over q
// and k at the memory's bandwidth; cosines and sines are computed once for all
// heads that a thread turns.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ROTARY_H
#define RONDO_RUNTIME_BODIES_CUDA_ROTARY_H

#include "runtime/base/cuda/stream.h"
#include "runtime/model/layer.h"

namespace rondo::runtime::cuda {

/// The norms of heads: all null without. A token's heads of q come before those
/// of k.
template <typename T> struct HeadNorms {
  /// [head width].
  const float *queryGain, *keyGain;
  /// [tokens][rotated heads][head width].
  T *normal;
  /// [tokens][rotated heads].
  float *scale;
};

/// Rows are laid out as QkvColumns (model/llama_cuda_layouts.h) says. Writes
/// normal and scale.
template <typename T>
void headsForward(const Stream &stream, const LayerDesc &layer,
                  const HeadNorms<T> &norms, T *qkv);

/// Turns the gradients of what headsForward() made into those of what it got.
/// With norms, writes the gradients of both gains to gainGrads [2][head width];
/// `partials` has normChunks(tokens) times as many elements. Positions are
/// turned in fp32 from angles reduced in fp64.
template <typename T>
void headsInputGrad(const Stream &stream, const LayerDesc &layer,
                    const HeadNorms<T> &norms, T *qkv, float *gainGrads,
                    float *partials);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ROTARY_H
