//===- PriceKnots.cpp - Where prices change over time ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/PriceKnots.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

namespace {

constexpr int32_t piecesOfRamp = 3, piecesBetween = 4;
/// Length of a ramp, as a multiple of the time until the first W can have ended
/// (or after which the last F must have run).
constexpr double lengthOfRamp = 2;
/// Two pieces are joined if their change of price, times the shorter length, is
/// less than this part of the price of all time and memory of the rank.
constexpr double leastChange = 3e-5;
/// Pieces that are shorter than this part of all time are not split.
constexpr double leastLength = 1e-5;
/// The least number of pieces that a split may halve.
constexpr size_t fewestSplit = 8;

} // namespace

/// The change, from piece i to piece j, of the price of all that the rank has,
/// per ns.
double PriceKnots::changeBetween(const RankPrices &prices, size_t i,
                                 size_t j) const {
  double change = 0;
  for (size_t r = 0; r < prices.size(); ++r)
    change +=
        double(path.capacities[r]) * std::abs(prices[r][i] - prices[r][j]);
  return change;
}

PriceKnots::PriceKnots(const RankPath &path, int64_t objective)
    : path(path), first(objective) {
  const auto begin = double(path.begin()),
             end = double(objective - path.endOffset), all = end - begin;
  // The time until the first W can have ended, and the time from the last
  // possible F on.
  double untilRelease = all, afterTake = all;
  for (size_t i = 0; i < path.leaves.size(); ++i) {
    untilRelease = std::min(
        untilRelease, double(path.leaves[i].head + path.leaves[i].ns) - begin);
    afterTake =
        std::min(afterTake, double(path.operations[i].tail - path.endOffset));
  }
  const double ramp = std::min(lengthOfRamp * untilRelease, 0.45 * all),
               lastRamp = std::min(lengthOfRamp * afterTake, 0.45 * all);
  auto add = [&](double time, double share) {
    // A ramp without length has no pieces.
    if (knots.empty() || time > knots.back().time + leastLength * all)
      knots.push_back({time, share});
  };
  for (int32_t i = 0; i < piecesOfRamp; ++i)
    add(begin + ramp * i / piecesOfRamp, 0);
  for (int32_t i = 0; i < piecesBetween; ++i)
    add(begin + ramp + (all - ramp - lastRamp) * i / piecesBetween,
        double(i) / piecesBetween);
  for (int32_t i = piecesOfRamp; i > 0; --i)
    add(end - lastRamp * i / piecesOfRamp, 1);
  if (knots.back().time > end - leastLength * all && knots.size() > 1)
    knots.pop_back();
  knots.push_back({end, 1});
}

std::vector<double> PriceKnots::timesIn(int64_t objective) const {
  std::vector<double> times;
  for (const Knot &knot : knots)
    times.push_back(knot.time + knot.share * double(objective - first));
  return times;
}

void PriceKnots::join(int64_t objective, RankPrices &prices) {
  const std::vector<double> times = timesIn(objective);
  auto length = [&](size_t i) { return times[i + 1] - times[i]; };
  std::vector<bool> ends(pieces(), true);
  for (size_t i = 0; i + 1 < pieces(); ++i)
    ends[i] =
        changeBetween(prices, i, i + 1) * std::min(length(i), length(i + 1)) >=
        leastChange;
  for (std::vector<double> &list : prices) {
    size_t kept = 0;
    double sum = 0, lengths = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      sum += length(i) * list[i];
      lengths += length(i);
      if (ends[i]) {
        list[kept++] = sum / lengths;
        sum = lengths = 0;
      }
    }
    list.resize(kept);
  }
  size_t kept = 1;
  for (size_t i = 0; i < ends.size(); ++i)
    if (ends[i])
      knots[kept++] = knots[i + 1];
  knots.resize(kept);
}

void PriceKnots::split(int64_t objective, const RankPrices &guide, double share,
                       size_t most, RankPrices &prices) {
  const std::vector<double> times = timesIn(objective);
  const double least = leastLength * (times.back() - times.front());
  std::vector<std::pair<double, size_t>> changes;
  for (size_t i = 0; i < pieces(); ++i) {
    const double length = times[i + 1] - times[i];
    double change = 0;
    if (i > 0)
      change += changeBetween(guide, i - 1, i);
    if (i + 1 < pieces())
      change += changeBetween(guide, i, i + 1);
    if (length > least)
      changes.push_back({-change * length, i});
  }
  std::sort(changes.begin(), changes.end());
  const size_t room = std::max(fewestSplit, most - std::min(most, pieces()));
  const size_t count =
      std::min({changes.size(), size_t(share * double(pieces())), room});
  std::vector<int> parts(pieces(), 1);
  for (size_t n = 0; n < count; ++n)
    parts[changes[n].second] = 2;
  for (std::vector<double> &list : prices) {
    std::vector<double> more;
    for (size_t i = 0; i < parts.size(); ++i)
      more.insert(more.end(), size_t(parts[i]), list[i]);
    list = std::move(more);
  }
  std::vector<Knot> more;
  for (size_t i = 0; i < parts.size(); ++i) {
    more.push_back(knots[i]);
    if (parts[i] == 2)
      more.push_back({(knots[i].time + knots[i + 1].time) / 2,
                      (knots[i].share + knots[i + 1].share) / 2});
  }
  more.push_back(knots.back());
  knots = std::move(more);
}
