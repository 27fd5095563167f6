//===- Curve.h - Time over memory -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of one problem as points, from any source. Both writers draw the
// same picture.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_CURVES_CURVE_H
#define RONDO_FORMATS_CURVES_CURVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::curves {

/// The source of a schedule.
enum class Origin : uint8_t { Family, File, Search };

struct Point {
  std::string name;
  Origin origin = Origin::Family;
  /// The most that the fullest rank holds.
  int64_t bytes = 0;
  int64_t ns = 0;
};

/// A schedule without a point.
struct Missing {
  std::string name, why;
};

struct Curve {
  std::string title;
  /// `makespan` or `span`.
  std::string time;
  std::vector<Point> points;
  std::vector<Missing> missing;
  /// No schedule is faster; the bound's name. Negative: there is none.
  int64_t boundNs = -1;
  std::string bound;
  /// The cap of every rank; nothing if caps differ or one has no limit.
  std::optional<int64_t> capBytes;
};

/// Points that no other beats in one figure without being worse in the other,
/// in the order of memory; of equal ones the first. O(points * log points).
std::vector<size_t> paretoFront(llvm::ArrayRef<Point> points);

/// A picture for papers: the curves below each other. No scripts.
void writeSvg(llvm::raw_ostream &os, llvm::ArrayRef<Curve> curves);
/// One page without network: the same picture, whose points say on hovering
/// what they are, and a table of all schedules.
void writeHtml(llvm::raw_ostream &os, llvm::ArrayRef<Curve> curves);

} // namespace rondo::curves

#endif // RONDO_FORMATS_CURVES_CURVE_H
