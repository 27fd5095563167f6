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
// If micro-batches may be copied, each set of stages that are copied has a
// chain of its own. SAVE of a stage follows its F like W its I, and LOAD runs
// before the start of I or W: the least cost of LOAD until x is at least linear
// between two points as well. SAVE and LOAD cost the time of their lanes, and
// less memory. LOAD before SAVE ends would only cost more memory.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H
#define RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H

#include "schedule/bounds/RankPath.h"

#include <vector>

namespace rondo {

/// Starts of the operations, then of the leaves, then of SAVE and LOAD of each
/// copy (NaN if it is not copied), each counted from its earliest start.
using PathStarts = std::vector<double>;

/// [resource of the rank][piece between two knots]: per ns of compute time and
/// lanes, and per byte and ns of memory.
using RankPrices = std::vector<std::vector<double>>;

class CheapestPath {
public:
  /// An objective with slack. Knots ascend strictly, from the first start on
  /// the rank to its end.
  CheapestPath(const RankPath &path, int64_t objective,
               std::vector<double> knots);

  /// The least cost of any path.
  double leastCost(const RankPrices &prices);
  /// Divides the time into `parts` equal parts. Returns the cheapest path that
  /// starts in each part in which one can start, at the prices of the last
  /// leastCost().
  std::vector<PathStarts> cheapPaths(size_t parts) const;
  /// [resource of the rank, piece between two knots]: what a path uses, in ns
  /// or in bytes times ns.
  std::vector<double> useOf(const PathStarts &starts) const;

  size_t pieces() const { return knots.size() - 1; }
  double length(size_t piece) const { return knots[piece + 1] - knots[piece]; }
  /// The work of leastCost(): points times operations of all chains.
  size_t work() const { return points.size() * rows.size() * chains.size(); }
  /// The largest rounding error of leastCost(), for prices at which all time
  /// and memory of the rank cost 1 together.
  double roundingError() const;

private:
  using Operation = RankPath::Operation;
  /// [point]: the least cost of an operation and those after it if it starts
  /// there (`cost`), or there or later (`least`; of LOAD, there or earlier);
  /// `best` is the start point of the latter.
  struct Choices {
    std::vector<double> cost, least;
    std::vector<uint32_t> best;
  };
  /// The cheapest start outside of the points, and its cost (infinite if there
  /// is none).
  struct Outside {
    double cost = 0, start = 0;
  };
  /// One operation. Its choices are those of the operation alone.
  struct Row {
    const Operation *operation;
    /// Its earliest and latest start.
    double earliest, latest;
    /// [piece], with one more entry: the first point at which the operation
    /// starts, or ends, in this piece or later.
    std::vector<uint32_t> starts, ends;
    Choices choices;
    /// W and SAVE may start after the last of `points`, LOAD before the first.
    Outside outside;
  };
  /// The path with a set of copied stages.
  struct Chain {
    /// [copy].
    std::vector<bool> isCopied;
    /// [operation].
    std::vector<Choices> choices;
  };
  /// W after a LOAD that it needs. If W starts after all points, LOAD runs at
  /// its cheapest start at any time, which is a lower bound.
  struct LateCopy {
    Choices choices;
    Outside load;
  };

  void setPoints();
  double sumAt(RankPath::Resource resource, double time) const;
  double costAt(const Operation &operation, double start) const;
  void addSum(Row &row, bool isEnd, double laneFactor, double memoryFactor,
              double hostFactor);
  void setCosts(Row &row);
  Outside outsideOf(const Row &row, double from, double to) const;
  void setLater(Choices &choices, double costAfter) const;
  void setEarlier(Row &load) const;
  void setLeaf(Row &leaf);
  void setCopy(size_t copy);
  void setChain(Chain &chain);
  PathStarts startsOf(const Chain &chain, uint32_t at) const;
  bool hasHostCap() const {
    return path.capacities.size() > RankPath::HostMemory;
  }
  /// The row of SAVE of a copy; that of its LOAD comes next.
  size_t saveRow(size_t copy) const {
    return path.operations.size() + path.leaves.size() + 2 * copy;
  }
  /// The copy of a stage, by its place on the rank; -1 if there is none.
  int32_t copyOf(size_t stage) const;

  const RankPath &path;
  const std::vector<double> knots;
  /// The operations, then the leaves (W), then SAVE and LOAD of each copy.
  std::vector<Row> rows;
  std::vector<Chain> chains;
  /// [copy]: only for late ones.
  std::vector<LateCopy> late;
  std::vector<double> points;
  /// [resource]: prices, and their sums up to each knot.
  std::vector<std::vector<double>> slopes, sums;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_CHEAPESTPATH_H
