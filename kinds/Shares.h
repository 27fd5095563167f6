//===- Shares.h - Parts of a micro-batch ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How figures of a micro-batch are divided over the replicas that share its
// samples. Compiler and runtime include it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_SHARES_H
#define RONDO_KINDS_SHARES_H

#include <cstdint>

namespace rondo {

/// floor(figure * some / samples). Neither product leaves 64 bits if both are
/// below 2^31 and the result is below 2^63.
constexpr int64_t partOf(int64_t figure, int64_t some, int64_t samples) {
  return figure / samples * some + figure % samples * some / samples;
}

/// The same, rounded up.
constexpr int64_t partOfUp(int64_t figure, int64_t some, int64_t samples) {
  return partOf(figure, some, samples) +
         (figure % samples * some % samples != 0);
}

/// What a figure that is spread over all samples has from `first` to `end`.
constexpr int64_t partBetween(int64_t figure, int64_t first, int64_t end,
                              int64_t samples) {
  return partOf(figure, end, samples) - partOf(figure, first, samples);
}

} // namespace rondo

#endif // RONDO_KINDS_SHARES_H
