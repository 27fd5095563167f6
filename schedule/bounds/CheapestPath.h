//===- CheapestPath.h - A micro-batch's least cost on a rank ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch passes the stages of one rank by F, then back by I, with at
// least some time from the start of each of these operations to the next; W of
// a stage follows its I. An objective leaves each operation some time, from its
// earliest start on: counted from there, no start is before that of the
// operation before it. The rank's time has a price per ns, and its memory one
// per byte and ns; both change at knots.
//
// The cost c_i(x) of operation i for the start x is linear between those x at
// which it starts or ends at a knot. Let p_1 < p_2 < ... be these x of all
// operations. The cheapest path that starts all of them at such points is found
// by dynamic programming from the last operation back: m_i(p_k), the least cost
// of operation i and those after it from p_k on, is the lesser of m_i(p_k+1)
// and c_i(p_k) + m_i+1(p_k). No other path is cheaper: let m_i be linear in
// between. If what follows costs at least m_i+1(x), then starting at x costs at
// least c_i(x) + m_i+1(x), which is linear between two points, at both of which
// it is m_i or more. And since m_i increases, so does starting later.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H
#define RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H

#include "schedule/bounds/RankPath.h"

#include <vector>

namespace rondo {

/// Starts of the operations, then of the leaves, each counted from its earliest
/// start.
using PathStarts = std::vector<double>;

class CheapestPath {
public:
  /// An objective with slack. Knots ascend strictly, from the first start on
  /// the rank to its end.
  CheapestPath(const RankPath &path, int64_t objective,
               std::vector<double> knots);

  /// The least cost of any path. Prices are [piece between two knots]: per ns
  /// of the rank's time, and per byte and ns of its memory.
  double leastCost(const std::vector<double> &timePrices,
                   const std::vector<double> &memoryPrices);
  /// Divides the time into `parts` equal parts. Returns the cheapest path that
  /// starts in each part in which one can start, at the prices of the last
  /// leastCost().
  std::vector<PathStarts> cheapPaths(size_t parts) const;
  /// The resources that a path uses between each two knots: ns of the rank's
  /// time for each piece, then bytes times ns of its memory for each.
  std::vector<double> useOf(const PathStarts &starts) const;

  size_t pieces() const { return knots.size() - 1; }
  double length(size_t piece) const { return knots[piece + 1] - knots[piece]; }
  size_t size() const { return points.size(); }
  size_t numOperations() const { return rows.size(); }
  /// The largest rounding error of leastCost(), for prices at which all time
  /// and memory of the rank cost 1 together.
  double roundingError() const;

private:
  using Operation = RankPath::Operation;
  /// One operation.
  struct Row {
    const Operation *operation;
    /// Its latest start.
    double latest;
    /// [piece], with one more entry: the first point at which the operation
    /// starts, or ends, in this piece or later.
    std::vector<uint32_t> starts, ends;
    /// [point]: the least cost of this operation and those after it if it
    /// starts there (`cost`), or there or later (`leastLater`); `best` is the
    /// start point of the latter.
    std::vector<double> cost, leastLater;
    std::vector<uint32_t> best;
    /// For W, which may start later than the last of `points`: the cheapest
    /// such start, and its cost (infinite if there is none).
    double startAfter = 0, costAfter = 0;
  };

  void setPoints();
  double sumAt(const std::vector<double> &sum, const std::vector<double> &slope,
               double time) const;
  double costAt(const Operation &operation, double start) const;
  void addSum(Row &row, bool isEnd, double timeFactor, double memoryFactor);
  void setCosts(Row &row);
  void setCostAfter(Row &leaf);
  void setLater(Row &row);

  const RankPath &path;
  const std::vector<double> knots;
  /// The operations, then the leaves (W).
  std::vector<Row> rows;
  std::vector<double> points;
  /// Prices, and their sums up to each knot.
  std::vector<double> timeSlope, timeSum, memorySlope, memorySum;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H
