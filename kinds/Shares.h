//===- Shares.h - Parts of a micro-batch ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides sizes and times of a micro-batch over the replicas that share its
// samples. Used by compiler and runtime.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_SHARES_H
#define RONDO_KINDS_SHARES_H

#include <cstdint>

namespace rondo {

/// floor(figure * some / samples). No product exceeds 64 bits if `some` and
/// `samples` are below 2^31 and the result is below 2^63.
constexpr int64_t partOf(int64_t figure, int64_t some, int64_t samples) {
  return figure / samples * some + figure % samples * some / samples;
}

/// The same, rounded up.
constexpr int64_t partOfUp(int64_t figure, int64_t some, int64_t samples) {
  return partOf(figure, some, samples) +
         (figure % samples * some % samples != 0);
}

/// The part of `figure` for samples `first` (inclusive) to `end` (exclusive),
/// if `figure` is spread evenly over all samples.
constexpr int64_t partBetween(int64_t figure, int64_t first, int64_t end,
                              int64_t samples) {
  return partOf(figure, end, samples) - partOf(figure, first, samples);
}

} // namespace rondo

#endif // RONDO_KINDS_SHARES_H
