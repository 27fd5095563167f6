//===- Curve.cpp - Time over memory ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/curves/Curve.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace rondo;
using namespace rondo::curves;

std::vector<size_t> curves::paretoFront(llvm::ArrayRef<Point> points) {
  std::vector<size_t> order(points.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tuple(points[a].bytes, points[a].ns, a) <
           std::tuple(points[b].bytes, points[b].ns, b);
  });
  std::vector<size_t> front;
  for (size_t i : order)
    if (front.empty() || points[i].ns < points[front.back()].ns)
      front.push_back(i);
  return front;
}
