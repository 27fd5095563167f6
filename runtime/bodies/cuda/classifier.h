//===- classifier.h - Softmax and cross-entropy on CUDA ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_CLASSIFIER_H
#define RONDO_RUNTIME_BODIES_CUDA_CLASSIFIER_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// Rows of `vocab` logits, `stride` elements apart, a multiple of 8. Gradients
/// after the last logit become 0, up to a multiple of 8. Limit: the memory's
/// bandwidth, one read and one write: a row up to 112 KiB, 57,280 logits in
/// bf16, is kept in shared memory if the device has as much; a longer one is
/// read twice, the second time from a cache.
template <typename T> struct Logits {
  int64_t rows, vocab, stride;
  T *values;
};

/// Logits become gradients: (softmax - 1 at the target) * share. Writes each
/// row's loss and, if they are not null, the logarithm of each row's sum and
/// the share, one element.
template <typename T>
void crossEntropy(const Stream &stream, const Logits<T> &logits,
                  const int32_t *targets, float share, float *losses,
                  float *logSumExp, float *savedShare);

/// Computes the same gradients from what was saved.
template <typename T>
void crossEntropyAgain(const Stream &stream, const Logits<T> &logits,
                       const int32_t *targets, const float *logSumExp,
                       const float *savedShare);

/// *mean = mean of `count` losses, added in fp64 in a fixed order.
void meanLoss(const Stream &stream, int64_t count, const float *losses,
              float *mean);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_CLASSIFIER_H
