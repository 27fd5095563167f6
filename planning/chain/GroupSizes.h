//===- GroupSizes.h - Ranges of group sizes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_GROUPSIZES_H
#define RONDO_PLANNING_CHAIN_GROUPSIZES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo {

/// The possible numbers of devices of a stage, in ranges. Bounds use the most
/// favourable value of a range: the work of its largest size, and the links and
/// number of devices of its smallest. Up to 64 devices each size is its own
/// range; beyond, large sizes share ranges.
class GroupSizes {
public:
  explicit GroupSizes(int32_t devices) : range(devices + 1) {
    for (int32_t size = 1; size <= devices;) {
      const int32_t width = devices <= 64 ? 1 : std::max(1, size / 8);
      ranges.push_back({size, std::min(devices, size + width - 1)});
      for (; size <= ranges.back().most; ++size)
        range[size] = static_cast<int32_t>(ranges.size()) - 1;
    }
  }

  int32_t count() const { return static_cast<int32_t>(ranges.size()); }
  int32_t least(int32_t range) const { return ranges[range].least; }
  int32_t most(int32_t range) const { return ranges[range].most; }
  int32_t rangeOf(int32_t size) const { return range[size]; }

private:
  struct Range {
    int32_t least, most;
  };
  std::vector<Range> ranges;
  std::vector<int32_t> range;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_GROUPSIZES_H
