//===- StartPlans.h - Where a search of plans begins ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_STARTPLANS_H
#define RONDO_PLANNING_CHAIN_STARTPLANS_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// Plans with the same work and number of devices in each stage, as far as
/// whole layers and devices allow: one for each number of stages. The first is
/// data parallel.
std::vector<ChainPlan> evenPlans(const ChainProblem &problem,
                                 const std::vector<int32_t> &order);

/// Orders of all devices in which neighbours are well connected, each once: by
/// servers in several orders of the servers, and by minimum cuts; forwards and
/// backwards; and begun within a server, so that the first and the last stage
/// may share one. One if all devices are equal.
std::vector<std::vector<int32_t>> deviceOrders(const ChainProblem &problem);

/// How fine a dynamic program may look at a problem to take some milliseconds,
/// or, if it may be `thorough`, a second.
struct ProgramScale {
  int32_t devicesPerUnit = 1;
  /// Where stages may end, from 0 to the number of layers.
  std::vector<int32_t> cuts;
};
ProgramScale programScale(const ChainProblem &problem, bool thorough);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_STARTPLANS_H
