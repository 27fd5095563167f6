//===- FewestDevices.h - Plans that fit memory ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_FEWESTDEVICES_H
#define RONDO_PLANNING_CHAIN_FEWESTDEVICES_H

#include "planning/chain/ChainCosts.h"

#include <optional>

namespace rondo {

/// Stages that fit the memory of their devices, and the number of devices.
struct FittingStages {
  struct Stage {
    int32_t first = 0, end = 0;
    int64_t devices = 0;
  };
  std::vector<Stage> stages;
  int64_t devices = 0;
};

/// The stages that need the fewest devices of `memoryBytes` each, which may be
/// more devices than the problem has; nothing if no number is enough. If
/// devices have equal memory, a plan fits exactly if this number is at most
/// that of the devices. O(layers^3).
std::optional<FittingStages> fewestDevices(const ChainProblem &problem,
                                           int64_t memoryBytes);

/// The least memory per device with which some plan on the problem's devices
/// fits.
/// O(layers^3 * log(bytes)).
int64_t leastMemoryBytes(const ChainProblem &problem);

/// The stages that need the fewest devices of `memoryBytes` each, on the first
/// devices of each order; on those of the first order alone if all devices have
/// equal memory. Empty if there are too few devices. O(layers^3 + orders *
/// devices).
std::vector<ChainPlan>
fittingPlans(const ChainProblem &problem, int64_t memoryBytes,
             const std::vector<std::vector<int32_t>> &orders);

/// A fault if no plan fits even if all devices had the memory of the largest.
/// O(layers^3 * log(bytes)).
std::optional<Fault> findMemoryFault(const ChainProblem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_FEWESTDEVICES_H
