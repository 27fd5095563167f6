//===- AffineFit.h - Affine costs of measured times -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_AFFINEFIT_H
#define RONDO_FORMATS_AFFINEFIT_H

#include "formats/json/ProblemText.h"

namespace rondo::formats {

/// A time of micro-batches with these sizes.
struct MeasuredTime {
  std::vector<int64_t> sizes;
  int64_t ns;
};

struct AffineFit {
  json::AffineText cost;
  /// The largest (fitted - measured) / measured by its amount, and the time
  /// that has it.
  double residual = 0;
  size_t worst = 0;
};

/// Fits `fixed + sum of per_size[k] * size[k] / over` to times: the least sum
/// of squares of relative residuals without negative figures. `over` is the
/// least power of 2 that keeps each factor to a millionth. Nothing if the sizes
/// of the times do not determine the figures: fewer times than figures, or
/// sizes in proportion. Times are 1 or more; at most 4 sizes.
std::optional<AffineFit> fitAffine(const std::vector<MeasuredTime> &times);

} // namespace rondo::formats

#endif // RONDO_FORMATS_AFFINEFIT_H
