//===- attention_plain.h - Attention without tensor cores -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like attentionForward() and attentionInputGrad() of attention.h, and the
// steps before and after that all input gradient kernels of attention share.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ATTENTION_PLAIN_H
#define RONDO_RUNTIME_BODIES_CUDA_ATTENTION_PLAIN_H

#include "runtime/bodies/cuda/attention.h"

namespace rondo::runtime::cuda {

template <typename T>
void plainAttentionForward(const Stream &stream, const AttentionShape &shape,
                           const T *qkv, T *output, float *logSumExp);
template <typename T>
void plainAttentionInputGrad(const Stream &stream, const AttentionShape &shape,
                             T *qkv, const T *output, const T *outputGrad,
                             const float *logSumExp, T *queryGrad,
                             float *rowDots);

/// Sums of output * outputGrad over each row of a head.
template <typename T>
void attentionRowDots(const Stream &stream, const AttentionShape &shape,
                      const T *output, const T *outputGrad, float *rowDots);
/// Call this once no kernel reads the queries any more.
template <typename T>
void copyQueryGrad(const Stream &stream, const AttentionShape &shape,
                   const T *queryGrad, T *qkv);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ATTENTION_PLAIN_H
