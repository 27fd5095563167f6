//===- DeviceOrder.h - Devices in a row -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_DEVICEORDER_H
#define RONDO_PLANNING_CHAIN_DEVICEORDER_H

#include "planning/chain/ChainProblem.h"

namespace rondo {

/// SPP's recursive device ordering: the devices are divided by a minimum cut of
/// the bandwidths (Stoer and Wagner, 1997), and so is each side in turn, until
/// each is one device; so what is well connected is near. Of equals, the
/// smallest number goes first. With more than 128 devices, servers are ordered
/// in this way, and with more than 128 servers nothing is: the order is by
/// server and number. O(devices^4) up to 128 devices.
std::vector<int32_t> orderByMinimumCuts(const ChainProblem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_DEVICEORDER_H
