//===- PlanFigures.cpp - What lowering needs to know of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/PlanFigures.h"

#include "dialect/Bridge.h"
#include "schedule/CollectiveTime.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// With how long each takes.
static std::vector<Collective> timedCollectives(PlanOp plan) {
  std::vector<Collective> collectives = planCollectives(plan);
  if (!plan.getHomes().hasReplicas())
    return collectives;
  FailureOr<Problem> problem = buildProblem(plan);
  const std::vector<HomeBuffers> buffers = homeBuffers(plan);
  for (Collective &sum : collectives)
    if (sum.kind == rondo::CollectiveKind::HomeGradients && succeeded(problem))
      sum.ns = sumOverHomesNs(
          *problem, sum.homes,
          buffers[sum.homes.front()][int(BufferKind::Gradients)]);
  return collectives;
}

PlanFigures rondo::pipe::figuresOf(PlanOp plan, bool hasNorm) {
  PlanFigures figures;
  figures.hasNorm = hasNorm;
  figures.buffers = homeBuffers(plan);
  figures.collectives = timedCollectives(plan);
  figures.stagingBytes = stagingOfRanks(plan, hasNorm);
  figures.devices = deviceBytes(plan);
  figures.declaresWeights = declaresWeights(plan);
  return figures;
}

PlanFigures rondo::pipe::figuresOf(ScheduleOp schedule) {
  return figuresOf(schedule.lookupPlan(), schedule.computesNorm());
}
