//===- OrderedGroups.h - Links of neighbouring device groups ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_ORDEREDGROUPS_H
#define RONDO_PLANNING_CHAIN_ORDEREDGROUPS_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// Devices in a row, in units of `unit` devices, with the links and the weakest
/// devices of groups of consecutive units. A remainder of the devices that
/// makes no unit is left out at the end.
class OrderedGroups {
public:
  /// O(devices^2 * units), with NICs O(units^3 * NICs) too.
  OrderedGroups(const ChainProblem &problem, std::vector<int32_t> order,
                int32_t unit = 1);

  int32_t numUnits() const { return units; }
  int32_t devicesPerUnit() const { return unit; }
  /// The devices of units [first, end).
  std::vector<int32_t> devices(int32_t first, int32_t end) const;

  /// Within units [first, end); without a rate if that is a single device.
  const GroupLink &within(int32_t first, int32_t end) const {
    return inside[static_cast<size_t>(first) * (units + 1) + end];
  }
  /// The weakest of units [first, end).
  const GroupDevice &weakest(int32_t first, int32_t end) const {
    return devicesOf[static_cast<size_t>(first) * (units + 1) + end];
  }
  /// From units [first, middle) to [middle, end).
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
