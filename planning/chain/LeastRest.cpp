//===- LeastRest.cpp - What the layers behind a stage cost at least -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/LeastRest.h"

using namespace rondo;

LeastRest::LeastRest(const ChainProblem &problem, const ChainCosts &costs)
    : L(problem.numLayers()), G(problem.numDevices()), best(problem) {
  messages.assign(static_cast<size_t>(L) * (G + 1) * (G + 1), never);
  for (int32_t boundary = 1; boundary < L; ++boundary)
    for (int32_t from = 1; from < G; ++from)
      for (int32_t to = 1; from + to <= G; ++to)
        messages[(static_cast<size_t>(boundary) * (G + 1) + from) * (G + 1) +
                 to] = costs.messageNs(boundary, int64_t(from) * to,
                                       best.rateAcross(from, to),
                                       best.latencyAcross(from, to));
  findWays(costs);
  findLongest(costs);
}

void LeastRest::findWays(const ChainCosts &costs) {
  ways.assign(static_cast<size_t>(L + 1) * (G + 1), never);
  // [first layer][devices]: through a stage that begins there, and on.
  std::vector<int64_t> from(ways.size(), never);
  std::fill(ways.begin() + static_cast<std::ptrdiff_t>(L) * (G + 1), ways.end(),
            0);
  for (int32_t first = L - 1; first > 0; --first) {
    const size_t row = static_cast<size_t>(first) * (G + 1);
    for (int32_t r = 1; r <= G; ++r)
      for (int32_t end = first + 1; end <= L; ++end) {
        const int64_t rest = ways[static_cast<size_t>(end) * (G + 1) + r];
        if (rest == never)
          continue;
        from[row + r] =
            std::min(from[row + r], costs.forwardNs(first, end, r) +
                                        costs.backwardNs(first, end, r) + rest);
      }
    for (int32_t r = 1; r < G; ++r)
      for (int32_t other = 1; r + other <= G; ++other)
        if (from[row + other] < never)
          ways[row + r] =
              std::min(ways[row + r],
                       2 * messageNs(first, r, other) + from[row + other]);
  }
}

void LeastRest::findLongest(const ChainCosts &costs) {
  const size_t side = static_cast<size_t>(G) + 1;
  longest.assign((L + 1) * side, never);
  std::fill(longest.begin() + static_cast<std::ptrdiff_t>(L * side),
            longest.end(), 0);
  for (int32_t first = L - 1; first >= 0; --first)
    for (int32_t devices = 1; devices <= G; ++devices) {
      int64_t &least = longest[first * side + devices];
      least = longest[first * side + devices - 1];
      for (int32_t r = 1; r <= devices; ++r)
        for (int32_t end = first + 1; end <= L; ++end) {
          const int64_t own =
              costs.forwardNs(first, end, r) + costs.backwardNs(first, end, r);
          if (own >= least)
            break;
          least =
              std::min(least, std::max(own, longest[end * side + devices - r]));
        }
    }
}
