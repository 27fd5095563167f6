//===- StartPlans.h - Initial plans of the search ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_STARTPLANS_H
#define RONDO_PLANNING_CHAIN_STARTPLANS_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// Plans with nearly equal work and numbers of devices in all stages, one plan
/// for each number of stages. The first is data parallel.
std::vector<ChainPlan> evenPlans(const ChainProblem &problem,
                                 const std::vector<int32_t> &order);

/// Different orders of all devices in which neighbours are well connected: by
/// servers in several orders, and by minimum cuts; forwards and backwards; also
/// rotated to begin within a server, so that the first and the last stage may
/// share one. A single order if all devices are equal.
std::vector<std::vector<int32_t>> deviceOrders(const ChainProblem &problem);

/// A resolution of the problem at which a dynamic program takes a few ms, or
/// about a second if `thorough`.
struct ProgramScale {
  int32_t devicesPerUnit = 1;
  /// The layers at which stages may end, from 0 to the number of layers.
  std::vector<int32_t> cuts;
};
ProgramScale programScale(const ChainProblem &problem, bool thorough);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_STARTPLANS_H
