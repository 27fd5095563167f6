//===- MemoryLimit.cpp - Groups that Ada-Grouper keeps --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/adaptive/MemoryLimit.h"

#include <algorithm>
#include <map>

using namespace rondo;

std::vector<GroupPoint>
rondo::onMemoryLimit(const std::vector<GroupPoint> &fitting) {
  std::map<int64_t, int64_t> largest;
  for (const GroupPoint &point : fitting)
    largest[point.k] = std::max(largest[point.k], point.samples);
  std::vector<GroupPoint> kept;
  for (auto it = largest.begin(); it != largest.end(); ++it) {
    const int64_t samples = it->second;
    const bool isDominated =
        std::any_of(std::next(it), largest.end(),
                    [&](const auto &other) { return other.second >= samples; });
    if (!isDominated || it->first == 1)
      kept.push_back({it->first, samples});
  }
  return kept;
}
