//===- FewestDevices.h - What fits memory -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_FEWESTDEVICES_H
#define RONDO_PLANNING_CHAIN_FEWESTDEVICES_H

#include "planning/chain/ChainCosts.h"

#include <optional>

namespace rondo {

/// The plan that needs the fewest devices of `memoryBytes` each, its devices
/// numbered from 0 on, which may be more than the problem has; nothing if no
/// number of devices is enough. Devices are equal in memory, so there is a plan
/// that fits exactly if this one has no more devices than there are.
/// O(layers^3).
std::optional<ChainPlan> fewestDevices(const ChainProblem &problem,
                                       int64_t memoryBytes);

/// The least memory with which a plan on the problem's devices fits.
/// O(layers^3 * log(bytes)).
int64_t leastMemoryBytes(const ChainProblem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_FEWESTDEVICES_H
