//===- RowTimes.h - Times of rows of documents ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_ROWTIMES_H
#define RONDO_PLANS_ROWTIMES_H

#include "dialect/Pipe.h"
#include "kinds/RowSize.h"
#include "runtime/model/layer.h"

#include <array>

namespace rondo::pipe {

/// A sum of times that are affine in tokens and pairs, in parts of a
/// nanosecond.
struct RowTime {
  __int128 perToken = 0, perPair = 0;

  RowTime &operator+=(const RowTime &other) {
    perToken += other.perToken;
    perPair += other.perPair;
    return *this;
  }
  /// Its factors are rounded down to multiples of 2^-32 ns, or of more if they
  /// would not fit 64 bits.
  AffineCost cost() const;
};

/// Sums over layers.
struct RowTimes {
  /// [task: F, I, W].
  std::array<RowTime, 3> task;
  /// Time of R, which runs some of the layers.
  RowTime recompute;

  /// `layer` describes any row of a plan of documents. Measured times of the
  /// micro-batch that the model states are taken in proportion to operations
  /// or, without any, to tokens. Other times are those of the operations at
  /// `flopsPerUs`; attention stays within a document.
  void add(const runtime::LayerDesc &layer, LayerOp op, int64_t flopsPerUs);
};

/// `time` in proportion, so that a row takes `stated` instead of what `time`
/// predicts for it.
AffineCost inProportion(const AffineCost &time, int64_t stated,
                        const RowSize &row);

} // namespace rondo::pipe

#endif // RONDO_PLANS_ROWTIMES_H
