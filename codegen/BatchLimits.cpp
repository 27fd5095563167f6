//===- BatchLimits.cpp - Limits that a plan states ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BatchLimits.h"

#include "plans/Layers.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace rondo;
using namespace rondo::codegen;

/// The times of a task on a device that computes `own` operations in the time
/// of `usual`.
static AffineCost slowDown(AffineCost cost, int64_t usual, int64_t own) {
  if (own == usual || own == 0 || usual == 0)
    return cost;
  // Small numbers would round to others.
  constexpr int64_t precise = int64_t(1) << 20, most = int64_t(1) << 40;
  while (cost.over < precise && cost.perToken < most && cost.perPair < most) {
    cost.over *= 2;
    cost.perToken *= 2;
    cost.perPair *= 2;
  }
  auto scale = [&](int64_t &number) {
    const long double scaled = static_cast<long double>(number) * usual / own;
    number = std::llround(
        std::min(scaled, static_cast<long double>(int64_t(1) << 62)));
  };
  scale(cost.fixed);
  scale(cost.perToken);
  scale(cost.perPair);
  return cost;
}

std::optional<BatchLimitsText>
rondo::codegen::batchLimitsOf(pipe::PlanOp plan, const Problem &problem) {
  pipe::TokensAttr tokens = plan.getTokensAttr();
  if (!tokens)
    return std::nullopt;
  BatchLimitsText limits;
  limits.rowTokens = tokens.getMost();
  limits.documentTokens = plan.getMostOfDocument();
  limits.inFlightTokens = tokens.getInFlight();
  limits.microbatches = problem.microbatches;
  limits.activationBytes = problem.memoryCaps;
  limits.workNs.resize(problem.costs.size());
  const pipe::StageFigures figures(plan);
  const std::vector<int64_t> flopsPerUs = pipe::flopsPerUsOf(plan);
  for (auto [number, stage] : llvm::enumerate(plan.getStages())) {
    const std::vector<AffineCost> costs = figures.rowCosts(stage);
    const auto s = static_cast<int32_t>(number);
    for (const Replica &replica : problem.replicas.of(s)) {
      const int32_t h = problem.replicas.numberOf(s, replica.index);
      auto at = [&](ActionKind kind) -> AffineCost & {
        return limits.workNs[h * numCostColumns + costColumn(kind)];
      };
      auto own = [&](const AffineCost &cost) {
        return slowDown(cost, flopsPerUs[stage.getRanks()[0]],
                        flopsPerUs[replica.rank]);
      };
      at(ActionKind::Forward) = own(costs[0]);
      at(ActionKind::InputGrad) = own(costs[1]);
      at(ActionKind::WeightGrad) = own(costs[2]);
      at(ActionKind::Recompute) = own(costs[3]);
      at(ActionKind::Step).fixed = problem.cost(h, ActionKind::Step).ns;
    }
  }
  return limits;
}
