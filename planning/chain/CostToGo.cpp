//===- CostToGo.cpp - What the layers behind a stage cost at least --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/CostToGo.h"

using namespace rondo;

CostToGo::CostToGo(const ChainProblem &problem, const ChainCosts &costs)
    : L(problem.numLayers()), G(problem.numDevices()), groups(G),
      K(groups.count()), best(problem) {
  messages.assign(static_cast<size_t>(L) * K * K, never);
  for (int32_t layer = 1; layer < L; ++layer)
    for (int32_t from = 0; from < K; ++from)
      for (int32_t to = 0; to < K; ++to) {
        const int32_t a = groups.least(from), b = groups.least(to);
        if (a + b <= G)
          messages[(static_cast<size_t>(layer) * K + from) * K + to] =
              costs.messageNs(layer, groups.most(from), groups.most(to),
                              best.rateAcross(a, b), best.latencyAcross(a, b),
                              best.inTurn(a, b));
      }
  findWays(costs);
  findLongest(costs);
}

int64_t CostToGo::workNs(const ChainCosts &costs, int32_t first, int32_t end,
                         int32_t range) const {
  const int64_t speed = best.speedPercent(groups.least(range));
  return costs.forwardNs(first, end, groups.most(range), speed) +
         costs.backwardNs(first, end, groups.most(range), speed);
}

void CostToGo::findWays(const ChainCosts &costs) {
  ways.assign(static_cast<size_t>(L + 1) * K, never);
  // [first layer][range]: through a stage that begins there, and on.
  std::vector<int64_t> from(ways.size(), never);
  std::fill(ways.begin() + static_cast<std::ptrdiff_t>(L) * K, ways.end(), 0);
  for (int32_t first = L - 1; first > 0; --first) {
    const size_t row = static_cast<size_t>(first) * K;
    for (int32_t k = 0; k < K; ++k)
      for (int32_t end = first + 1; end <= L; ++end) {
        const int64_t rest = wayNs(end, k);
        if (rest < never)
          from[row + k] =
              std::min(from[row + k], workNs(costs, first, end, k) + rest);
      }
    for (int32_t k = 0; k < K; ++k)
      for (int32_t other = 0; other < K; ++other)
        if (messageNs(first, k, other) < never && from[row + other] < never)
          ways[row + k] =
              std::min(ways[row + k],
                       2 * messageNs(first, k, other) + from[row + other]);
  }
}

void CostToGo::findLongest(const ChainCosts &costs) {
  const size_t side = static_cast<size_t>(G) + 1;
  longest.assign((L + 1) * side, never);
  std::fill(longest.begin() + static_cast<std::ptrdiff_t>(L * side),
            longest.end(), 0);
  for (int32_t first = L - 1; first >= 0; --first)
    for (int32_t devices = 1; devices <= G; ++devices) {
      int64_t &least = longest[first * side + devices];
      least = longest[first * side + devices - 1];
      for (int32_t k = 0; k < K && groups.least(k) <= devices; ++k) {
        const int32_t left = devices - groups.least(k);
        auto own = [&](int32_t end) { return workNs(costs, first, end, k); };
        auto rest = [&](int32_t end) { return longest[end * side + left]; };
        // With more layers the stage takes no less and the rest no more: the
        // least is where they meet.
        int32_t meet = first + 1, beyond = L;
        while (meet < beyond) {
          const int32_t middle = meet + (beyond - meet) / 2;
          if (own(middle) >= rest(middle))
            beyond = middle;
          else
            meet = middle + 1;
        }
        least = std::min(least, std::max(own(meet), rest(meet)));
        if (meet > first + 1)
          least = std::min(least, std::max(own(meet - 1), rest(meet - 1)));
      }
    }
}
