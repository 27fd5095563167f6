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
  // Stages of such plans have one replica.
  for (auto [replica, stage] : llvm::enumerate(plan.getStages())) {
    auto at = [&, replica = replica](ActionKind kind) -> AffineCost & {
      return limits.workNs[replica * numCostColumns + costColumn(kind)];
    };
    const std::vector<AffineCost> costs = figures.rowCosts(stage);
    at(ActionKind::Forward) = costs[0];
    at(ActionKind::InputGrad) = costs[1];
    at(ActionKind::WeightGrad) = costs[2];
    at(ActionKind::Recompute) = costs[3];
    at(ActionKind::Step).fixed =
        problem.cost(static_cast<int32_t>(replica), ActionKind::Step).ns;
  }
  return limits;
}
