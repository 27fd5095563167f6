//===- OrderedGroups.cpp - Links of neighbouring device groups ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/OrderedGroups.h"

#include <algorithm>

using namespace rondo;

OrderedGroups::OrderedGroups(const ChainProblem &problem,
                             std::vector<int32_t> row, int32_t unit)
    : order(std::move(row)), unit(unit),
      units(static_cast<int32_t>(order.size()) / unit) {
  const size_t side = static_cast<size_t>(units) + 1;
  const GroupLink none;
  // [from * units + to], of all pairs of devices of two units.
  std::vector<GroupLink> pairs(static_cast<size_t>(units) * units, none);
  for (int32_t i = 0; i < units * unit; ++i)
    for (int32_t j = 0; j < units * unit; ++j) {
      if (i == j)
        continue;
      GroupLink &pair = pairs[static_cast<size_t>(i / unit) * units + j / unit];
      pair = slower(pair, {problem.rate(order[i], order[j]),
                           problem.rate(order[j], order[i]),
                           problem.latencyNs(order[i], order[j])});
    }
  auto pairOf = [&](int32_t from, int32_t to) {
    return pairs[static_cast<size_t>(from) * units + to];
  };
  inside.assign(side * side, none);
  between.assign(side * side * side, none);
  for (int32_t middle = 0; middle <= units; ++middle) {
    // Of the unit before `middle` to those behind it, then of more units.
    std::vector<GroupLink> to(side, none);
    for (int32_t first = middle; first-- > 0;) {
      GroupLink row = none;
      for (int32_t end = middle + 1; end <= units; ++end) {
        row = slower(row, pairOf(first, end - 1));
        to[end] = slower(to[end], row);
        between[(first * side + middle) * side + end] = to[end];
      }
    }
  }
  if (!problem.cardOf.empty())
    countInTurn(problem);
  for (int32_t end = 1; end <= units; ++end) {
    GroupLink group = none;
    for (int32_t first = end; first-- > 0;) {
      group = slower(group, pairOf(first, first));
      if (first + 1 < end)
        group = slower(group, across(first, first + 1, end));
      inside[first * side + end] = group;
    }
    for (int32_t first = 0; first < end; ++first) {
      GroupLink &link = inside[first * side + end];
      link.rate = link.rateBack = std::min(link.rate, link.rateBack);
      link.inTurn = 1;
    }
  }
}

/// Sets `inTurn` of all pairs of groups.
void OrderedGroups::countInTurn(const ChainProblem &problem) {
  const size_t side = static_cast<size_t>(units) + 1;
  const auto cards = static_cast<size_t>(problem.numDevices());
  // [unit * cards + card]: devices in front of the unit.
  std::vector<int64_t> before(side * cards, 0);
  for (int32_t n = 0; n < units; ++n) {
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(n * cards), cards,
                before.begin() + static_cast<std::ptrdiff_t>((n + 1) * cards));
    for (int32_t device : devices(n, n + 1))
      if (const int32_t card = problem.cardOf[device]; card >= 0)
        ++before[(n + 1) * cards + card];
  }
  std::vector<size_t> used;
  for (size_t card = 0; card < cards; ++card)
    if (before[units * cards + card] > 0)
      used.push_back(card);
  for (int32_t first = 0; first < units; ++first)
    for (int32_t middle = first + 1; middle < units; ++middle)
      for (int32_t end = middle + 1; end <= units; ++end) {
        int64_t &most = between[(first * side + middle) * side + end].inTurn;
        for (const size_t card : used) {
          const int64_t passed = before[middle * cards + card];
          most =
              std::max(most, piecesInTurn(passed - before[first * cards + card],
                                          int64_t(middle - first) * unit,
                                          before[end * cards + card] - passed,
                                          int64_t(end - middle) * unit));
        }
      }
}

std::vector<int32_t> OrderedGroups::devices(int32_t first, int32_t end) const {
  return {order.begin() + static_cast<std::ptrdiff_t>(first) * unit,
          order.begin() + static_cast<std::ptrdiff_t>(end) * unit};
}
