//===- Steps.cpp - What steps wait for ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Program.h"

#include <algorithm>

using namespace rondo;

static bool holds(const Collective &collective, int32_t stage) {
  return std::find(collective.stages.begin(), collective.stages.end(), stage) !=
         collective.stages.end();
}

std::optional<Fault>
rondo::checkSteps(const Problem &problem, const Schedule &schedule,
                  const std::vector<Collective> &collectives) {
  // By stage: where its last W or B stands.
  std::vector<int64_t> lastGradient(problem.numStages(), -1);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i].traits().makes & weightGradDone)
        lastGradient[order[i].stage] = i;
    for (const Collective &collective : collectives) {
      // Of what the rank's stages contribute.
      int64_t last = -1;
      for (int32_t stage : collective.stages)
        if (problem.homeOf(stage).rank == r)
          last = std::max(last, lastGradient[stage]);
      for (int64_t i = 0; i < last; ++i) {
        if (order[i].kind() != ActionKind::Step ||
            !holds(collective, order[i].stage))
          continue;
        Fault fault = makeFaultAt<FaultKind::BeforeSum>(
            Rule::Dependence, r, i, order[i],
            traitsOf(collective.kind).keyword);
        fault.found = static_cast<int64_t>(collective.kind);
        fault.otherRank = r;
        fault.other = order[last];
        fault.otherPosition = last;
        return fault;
      }
    }
  }
  return std::nullopt;
}

std::optional<Fault> rondo::checkTraining(const TrainingNeeds &needs,
                                          const Program &program) {
  for (const Collective &needed : needs.collectives) {
    auto isIt = [&](const Collective &there) {
      return there.kind == needed.kind && there.tensor == needed.tensor &&
             there.stages == needed.stages;
    };
    if (std::any_of(program.collectives.begin(), program.collectives.end(),
                    isIt))
      continue;
    std::string stages;
    for (int32_t stage : needed.stages)
      stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
    return makeRuleFault<FaultKind::CollectiveMissing>(
        Rule::Tasks, traitsOf(needed.kind).keyword,
        int64_t(!needed.tensor.empty()), needed.tensor, stages);
  }
  if (needs.hasSteps && !program.order.hasSteps())
    return makeRuleFault<FaultKind::NoSteps>(Rule::Tasks);
  return std::nullopt;
}
