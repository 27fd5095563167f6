//===- OrderedGroups.cpp - Links of neighbouring device groups ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/OrderedGroups.h"

#include <algorithm>
#include <map>

using namespace rondo;

OrderedGroups::OrderedGroups(const ChainProblem &problem,
                             std::vector<int32_t> row, int32_t unit)
    : order(std::move(row)), unit(unit),
      units(static_cast<int32_t>(order.size()) / unit) {
  const size_t side = static_cast<size_t>(units) + 1;
  const GroupLink none;
  // [from * units + to]: the slowest link of all pairs of devices of two units.
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
    // [end]: the link from units [first, middle) to [middle, end).
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
  if (!problem.nicOf.empty())
    countInTurn(problem);
  devicesOf.resize(side * side);
  for (int32_t first = 0; first < units; ++first)
    for (int32_t end = first + 1; end <= units; ++end) {
      const GroupDevice last = weakestOf(
          problem, order.data() + static_cast<size_t>(end - 1) * unit, unit);
      devicesOf[first * side + end] =
          end == first + 1 ? last
                           : weaker(devicesOf[first * side + end - 1], last);
    }
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
  // For each NIC, [unit]: the number of its devices, and of its server's
  // devices, in earlier units.
  struct Passed {
    std::vector<int64_t> onNic = {0}, inServer = {0};
  };
  std::map<int32_t, Passed> nics;
  for (int32_t device : devices(0, units)) {
    const int32_t nic = problem.nicOf[device];
    if (nic < 0 || nics.count(nic))
      continue;
    Passed &passed = nics[nic];
    for (int32_t n = 0; n < units; ++n) {
      passed.onNic.push_back(passed.onNic.back());
      passed.inServer.push_back(passed.inServer.back());
      for (int32_t other : devices(n, n + 1)) {
        passed.onNic.back() += problem.nicOf[other] == nic;
        passed.inServer.back() +=
            problem.nodeOf[other] == problem.nodeOf[device];
      }
    }
  }
  for (int32_t first = 0; first < units; ++first)
    for (int32_t middle = first + 1; middle < units; ++middle)
      for (int32_t end = middle + 1; end <= units; ++end) {
        int64_t &most = between[(first * side + middle) * side + end].inTurn;
        auto countsOf = [=](const std::vector<int64_t> &before) {
          return GroupCounts{before[middle] - before[first],
                             before[end] - before[middle]};
        };
        const GroupCounts all = {int64_t(middle - first) * unit,
                                 int64_t(end - middle) * unit};
        for (const auto &[nic, passed] : nics)
          most = std::max(most, piecesInTurn(countsOf(passed.onNic),
                                             countsOf(passed.inServer), all));
      }
}

std::vector<int32_t> OrderedGroups::devices(int32_t first, int32_t end) const {
  return {order.begin() + static_cast<std::ptrdiff_t>(first) * unit,
          order.begin() + static_cast<std::ptrdiff_t>(end) * unit};
}
