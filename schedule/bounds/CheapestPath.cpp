//===- CheapestPath.cpp - A micro-batch's least cost on a rank ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/CheapestPath.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

CheapestPath::CheapestPath(const RankPath &path, int64_t objective,
                           std::vector<double> knotsGiven)
    : path(path), knots(std::move(knotsGiven)) {
  for (const auto *list : {&path.operations, &path.leaves})
    for (const Operation &operation : *list) {
      Row row;
      row.operation = &operation;
      row.latest =
          double(objective - operation.tail - operation.ns - operation.head);
      rows.push_back(std::move(row));
    }
  setPoints();
}

void CheapestPath::setPoints() {
  const double slack = rows[path.operations.size() - 1].latest;
  points = {0, slack};
  for (const Row &row : rows) {
    if (row.latest >= 0 && row.latest < slack)
      points.push_back(row.latest);
    for (const int64_t delay : {int64_t(0), row.operation->ns}) {
      const double shift = double(row.operation->head + delay);
      for (auto knot = std::upper_bound(knots.begin(), knots.end(), shift);
           knot != knots.end() && *knot - shift < slack; ++knot)
        points.push_back(*knot - shift);
    }
  }
  std::sort(points.begin(), points.end());
  // Merges points that differ by rounding errors only.
  const double least = knots.back() * 0x1p-50;
  size_t kept = 1;
  for (double point : points)
    if (point > points[kept - 1] + least)
      points[kept++] = point;
  points.resize(kept);
  points.back() = slack;
  for (Row &row : rows) {
    for (auto *edges : {&row.starts, &row.ends}) {
      const auto shift = double(row.operation->head +
                                (edges == &row.ends ? row.operation->ns : 0));
      for (double knot : knots)
        edges->push_back(uint32_t(
            std::lower_bound(points.begin(), points.end(), knot - shift) -
            points.begin()));
    }
    row.cost.resize(points.size());
    row.leastLater.resize(points.size());
    row.best.resize(points.size());
  }
}

double CheapestPath::sumAt(const std::vector<double> &sum,
                           const std::vector<double> &slope,
                           double time) const {
  if (time >= knots.back())
    return sum.back();
  const auto next = std::upper_bound(knots.begin(), knots.end(), time);
  if (next == knots.begin())
    return 0;
  const size_t i = size_t(next - knots.begin()) - 1;
  return sum[i] + slope[i] * (time - knots[i]);
}

double CheapestPath::costAt(const Operation &operation, double start) const {
  const double begin = double(operation.head) + start,
               end = begin + double(operation.ns);
  return sumAt(timeSum, timeSlope, end) - sumAt(timeSum, timeSlope, begin) +
         double(operation.frees) * sumAt(memorySum, memorySlope, end) -
         double(operation.takes) * sumAt(memorySum, memorySlope, begin);
}

/// Adds to each point's cost the prices summed up to the operation's start or
/// end there, times the factors.
void CheapestPath::addSum(Row &row, bool isEnd, double timeFactor,
                          double memoryFactor) {
  const std::vector<uint32_t> &edges = isEnd ? row.ends : row.starts;
  const auto shift =
      double(row.operation->head + (isEnd ? row.operation->ns : 0));
  double *cost = row.cost.data();
  const double *point = points.data();
  auto add = [&](uint32_t from, uint32_t to, double base, double slope) {
    for (uint32_t k = from; k < to; ++k)
      cost[k] += base + slope * point[k];
  };
  for (size_t i = 0; i < pieces(); ++i) {
    const double slope =
        timeFactor * timeSlope[i] + memoryFactor * memorySlope[i];
    add(edges[i], edges[i + 1],
        timeFactor * timeSum[i] + memoryFactor * memorySum[i] +
            slope * (shift - knots[i]),
        slope);
  }
  add(edges.back(), uint32_t(points.size()),
      timeFactor * timeSum.back() + memoryFactor * memorySum.back(), 0);
}

/// Sets the cost of the operation alone, for a start at each point.
void CheapestPath::setCosts(Row &row) {
  const Operation &operation = *row.operation;
  std::fill(row.cost.begin(), row.cost.end(), 0);
  if (operation.ns > 0 || operation.takes > 0)
    addSum(row, /*isEnd=*/false, operation.ns > 0 ? -1 : 0,
           -double(operation.takes));
  if (operation.ns > 0 || operation.frees > 0)
    addSum(row, /*isEnd=*/true, operation.ns > 0 ? 1 : 0,
           double(operation.frees));
  for (size_t k = points.size(); k-- > 0 && points[k] > row.latest;)
    row.cost[k] = INFINITY;
}

/// Sets the cheapest start of a W after all points: W can be delayed for longer
/// than the operations, and nothing follows it.
void CheapestPath::setCostAfter(Row &leaf) {
  leaf.costAfter = INFINITY;
  auto visit = [&](double start) {
    const double cost = costAt(*leaf.operation, start);
    if (cost < leaf.costAfter) {
      leaf.costAfter = cost;
      leaf.startAfter = start;
    }
  };
  if (leaf.latest < points.back())
    return;
  visit(leaf.latest);
  for (const int64_t delay : {int64_t(0), leaf.operation->ns}) {
    const double shift = double(leaf.operation->head + delay);
    for (auto knot = std::upper_bound(knots.begin(), knots.end(),
                                      shift + points.back());
         knot != knots.end() && *knot - shift < leaf.latest; ++knot)
      visit(*knot - shift);
  }
}

void CheapestPath::setLater(Row &row) {
  const bool isLeaf = size_t(&row - rows.data()) >= path.operations.size();
  double least = isLeaf ? row.costAfter : INFINITY;
  auto best = uint32_t(points.size());
  for (size_t k = points.size(); k-- > 0;) {
    if (row.cost[k] <= least) {
      least = row.cost[k];
      best = uint32_t(k);
    }
    row.leastLater[k] = least;
    row.best[k] = best;
  }
}

double CheapestPath::leastCost(const std::vector<double> &timePrices,
                               const std::vector<double> &memoryPrices) {
  auto setSum = [&](const std::vector<double> &prices,
                    std::vector<double> &slope, std::vector<double> &sum) {
    slope = prices;
    sum.assign(knots.size(), 0);
    for (size_t i = 0; i < pieces(); ++i)
      sum[i + 1] = sum[i] + slope[i] * length(i);
  };
  setSum(timePrices, timeSlope, timeSum);
  setSum(memoryPrices, memorySlope, memorySum);
  const size_t size = path.operations.size(), stages = path.leaves.size();
  for (size_t i = size; i-- > 0;) {
    setCosts(rows[i]);
    auto follows = [&](const Row &next) {
      for (size_t k = 0; k < points.size(); ++k)
        rows[i].cost[k] += next.leastLater[k];
    };
    if (i >= stages) {
      Row &leaf = rows[size + i - stages];
      setCosts(leaf);
      setCostAfter(leaf);
      setLater(leaf);
      follows(leaf);
    }
    if (i + 1 < size)
      follows(rows[i + 1]);
    setLater(rows[i]);
  }
  return rows.front().leastLater[0];
}

std::vector<PathStarts> CheapestPath::cheapPaths(size_t parts) const {
  const size_t size = path.operations.size(), stages = path.leaves.size();
  const std::vector<double> &costs = rows.front().cost;
  std::vector<PathStarts> paths;
  auto from = costs.begin();
  for (size_t part = 1; part <= parts; ++part) {
    auto to = costs.end();
    if (part < parts)
      to = costs.begin() +
           (std::lower_bound(points.begin(), points.end(),
                             points.back() * double(part) / double(parts)) -
            points.begin());
    if (from == to)
      continue;
    const auto cheapest = std::min_element(from, to);
    from = to;
    if (*cheapest == INFINITY)
      continue;
    auto at = uint32_t(cheapest - costs.begin());
    PathStarts starts(size + stages);
    for (size_t i = 0; i < size; ++i) {
      if (i > 0)
        at = rows[i].best[at];
      starts[i] = points[at];
      if (i < stages)
        continue;
      const Row &leaf = rows[size + i - stages];
      const uint32_t leafAt = leaf.best[at];
      starts[size + i - stages] =
          leafAt < points.size() ? points[leafAt] : leaf.startAfter;
    }
    paths.push_back(std::move(starts));
  }
  return paths;
}

std::vector<double> CheapestPath::useOf(const PathStarts &starts) const {
  const size_t size = path.operations.size(), stages = path.leaves.size();
  std::vector<double> use(2 * pieces());
  auto add = [&](size_t offset, double from, double to, double factor) {
    const auto next = std::upper_bound(knots.begin(), knots.end(), from);
    for (size_t i = size_t(next - knots.begin()) - (next > knots.begin());
         i < pieces() && knots[i] < to; ++i)
      use[offset + i] +=
          factor * (std::min(to, knots[i + 1]) - std::max(from, knots[i]));
  };
  auto begin = [&](size_t i) {
    return starts[i] + double(rows[i].operation->head);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const Operation &operation = *rows[i].operation;
    const double end = begin(i) + double(operation.ns);
    add(0, begin(i), end, 1);
    // The F of an I, operation i, is operation 2 * stages - 1 - i.
    if (operation.frees > 0)
      add(pieces(), begin(2 * stages - 1 - (i < size ? i : i - stages)), end,
          double(operation.frees));
  }
  return use;
}

/// Each cost is a difference of sums over the pieces, none above 1, at times
/// with a relative error of 2^-49. A price is at most 1 over a piece's length.
double CheapestPath::roundingError() const {
  double shortest = knots.back() - knots.front();
  for (size_t i = 0; i < pieces(); ++i)
    shortest = std::min(shortest, length(i));
  return double(4 * rows.size()) *
         (double(rows.size() + pieces()) + 8 * knots.back() / shortest) *
         0x1p-52;
}
