//===- BatchLimits.cpp - Limits that a plan states ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BatchLimits.h"

#include "plans/Layers.h"

#include "llvm/ADT/STLExtras.h"

using namespace rondo;
using namespace rondo::codegen;

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
  for (auto [number, stage] : llvm::enumerate(plan.getStages())) {
    const std::vector<AffineCost> costs = figures.rowCosts(stage);
    const auto s = static_cast<int32_t>(number);
    for (const Replica &replica : problem.replicas.of(s)) {
      const int32_t h = problem.replicas.numberOf(s, replica.index);
      auto at = [&](ActionKind kind) -> AffineCost & {
        return limits.workNs[h * numCostColumns + costColumn(kind)];
      };
      at(ActionKind::Forward) = costs[0];
      at(ActionKind::InputGrad) = costs[1];
      at(ActionKind::WeightGrad) = costs[2];
      at(ActionKind::Recompute) = costs[3];
      at(ActionKind::Step).fixed = problem.cost(h, ActionKind::Step).ns;
    }
  }
  return limits;
}
