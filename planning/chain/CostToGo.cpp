//===- CostToGo.cpp - Lower bounds for the layers after a stage -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/CostToGo.h"

using namespace rondo;

CostToGo::CostToGo(const ChainProblem &problem, const ChainCosts &costs)
    : L(problem.numLayers()), G(problem.numDevices()), groups(G),
      K(groups.count()), best(problem) {
  messages.assign(static_cast<size_t>(L) * K * K, infinite);
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
  ways = leastPaths(
      L, groups,
      [&](int32_t first, int32_t end, int32_t range) {
        return workNs(costs, first, end, range);
      },
      [&](int32_t layer, int32_t from, int32_t to) {
        return messageNs(layer, from, to);
      });
  findLongest(costs);
}

int64_t CostToGo::workNs(const ChainCosts &costs, int32_t first, int32_t end,
                         int32_t range) const {
  const int64_t speed = best.speedPercent(groups.least(range));
  return costs.forwardNs(first, end, groups.most(range), speed) +
         costs.backwardNs(first, end, groups.most(range), speed);
}

void CostToGo::findLongest(const ChainCosts &costs) {
  const size_t side = static_cast<size_t>(G) + 1;
  longest.assign((L + 1) * side, infinite);
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
        // As `end` grows, own() does not decrease and rest() does not increase,
        // so the minimum of their maximum is where they cross.
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
