//===- DeviceOrder.h - An order of the devices ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_DEVICEORDER_H
#define RONDO_PLANNING_CHAIN_DEVICEORDER_H

#include "planning/chain/ChainProblem.h"

namespace rondo {

/// SPP's recursive device ordering. Divides the devices by a minimum cut of the
/// bandwidths (Stoer and Wagner, 1997), then each side in the same way, down to
/// single devices, so that well-connected devices are close to each other. The
/// side with the smallest number comes first. With more than 128 devices,
/// orders servers instead; with more than 128 servers, the order is by server
/// and number. O(devices^4) up to 128 devices.
std::vector<int32_t> orderByMinimumCuts(const ChainProblem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_DEVICEORDER_H
