//===- Labels.h - Where the names of points go ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_CURVES_LABELS_H
#define RONDO_FORMATS_CURVES_LABELS_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace rondo::curves {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// A name to place.
struct Label {
  /// Its point, and the size of its text.
  double x = 0, y = 0, width = 0, height = 0;
};

/// A box for each label within `area`: the nearest place around its point that
/// is free of points, of `lines` and of the labels before it, else, in a crowd,
/// the place to the right. O(labels * (labels + lines)).
std::vector<Box> placeLabels(llvm::ArrayRef<Label> labels,
                             llvm::ArrayRef<Box> lines, const Box &area);

} // namespace rondo::curves

#endif // RONDO_FORMATS_CURVES_LABELS_H
