//===- HostMemory.cpp - S11: SAVEs fit the host at every instant ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/CopyWaits.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkHostMemory(const Problem &problem,
                                            const Schedule &schedule) {
  if (!schedule.hasCopies() || problem.hostMemory.caps.empty())
    return std::nullopt;
  const auto excess = deriveCopyWaits(problem, schedule).hostExcess;
  if (!excess)
    return std::nullopt;
  const auto [r, position, held] = *excess;
  return makeFaultAt<FaultKind::OverHostCap>(Rule::HostMemory, r, position,
                                             schedule.rank(r)[position])
      .withFigures(held, problem.hostMemory.cap(r));
}
