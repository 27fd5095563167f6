//===- OrderedGroups.h - Links of neighbouring device groups ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_ORDEREDGROUPS_H
#define RONDO_PLANNING_CHAIN_ORDEREDGROUPS_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// An order of devices, in units of `unit` devices, with the links and the
/// weakest devices of groups of consecutive units. Leaves out the last devices
/// if they do not fill a unit.
class OrderedGroups {
public:
  /// O(devices^2 * units), with NICs O(units^3 * NICs) too.
  OrderedGroups(const ChainProblem &problem, std::vector<int32_t> order,
                int32_t unit = 1);

  int32_t numUnits() const { return units; }
  int32_t devicesPerUnit() const { return unit; }
  /// The devices of units [first, end).
  std::vector<int32_t> devices(int32_t first, int32_t end) const;

  /// The link within units [first, end); without a rate for a single device.
  const GroupLink &within(int32_t first, int32_t end) const {
    return inside[static_cast<size_t>(first) * (units + 1) + end];
  }
  /// The element-wise weakest device of units [first, end).
  const GroupDevice &weakest(int32_t first, int32_t end) const {
    return devicesOf[static_cast<size_t>(first) * (units + 1) + end];
  }
  /// The link from units [first, middle) to [middle, end).
  const GroupLink &across(int32_t first, int32_t middle, int32_t end) const {
    return between[(static_cast<size_t>(first) * (units + 1) + middle) *
                       (units + 1) +
                   end];
  }

private:
  void countInTurn(const ChainProblem &problem);

  const std::vector<int32_t> order;
  const int32_t unit, units;
  std::vector<GroupLink> inside, between;
  std::vector<GroupDevice> devicesOf;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_ORDEREDGROUPS_H
