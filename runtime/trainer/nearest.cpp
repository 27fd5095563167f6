//===- nearest.cpp - Suggestions for mistyped words -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/nearest.h"

#include <algorithm>

using namespace rondo;

/// Edit distance: letters changed, removed, added or swapped with a neighbour.
static size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1,
                                        std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

std::string rondo::runtime::nearestWord(const std::string &written,
                                        const std::vector<std::string> &known) {
  std::string nearest;
  // Up to a third of the letters may be wrong.
  size_t least = written.size() / 3 + 1;
  for (const std::string &word : known) {
    const size_t wrong = distance(written, word);
    if (wrong < least) {
      least = wrong;
      nearest = word;
    }
  }
  return nearest;
}
