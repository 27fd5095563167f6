//===- Steps.cpp - What steps wait for ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/LastGradients.h"
#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>
#include <set>
#include <string>

using namespace rondo;

static bool holds(const Collective &collective, int32_t replica) {
  return std::find(collective.replicas.begin(), collective.replicas.end(),
                   replica) != collective.replicas.end();
}

std::optional<Fault>
rondo::checkSteps(const Problem &problem, const Schedule &schedule,
                  const std::vector<Collective> &collectives) {
  const int64_t iterations = problem.iterations;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    const LastGradients lastGradients(problem, order);
    for (const Collective &collective : collectives) {
      // Their parts are computed by steps, not by gradients.
      if (collective.delay > 0 || readsSteps(collective.kind))
        continue;
      // [iteration]: position of the last gradient that this rank's replicas
      // contribute.
      std::vector<int64_t> lasts(iterations, -1);
      for (int32_t replica : collective.replicas)
        if (problem.rankOf(replica) == r)
          for (int64_t t = 0; t < iterations; ++t)
            lasts[t] = std::max(lasts[t], lastGradients.of(replica, t));
      for (int64_t i = 0; i < order.size(); ++i) {
        if (order[i].kind() != ActionKind::Step ||
            !holds(collective, order[i].subject))
          continue;
        const int64_t last = lasts[order[i].index];
        if (i >= last)
          continue;
        return makeFaultAt<FaultKind::BeforeSum>(
                   Rule::Dependence, r, i, order[i],
                   traitsOf(collective.kind).keyword)
            .withFigures(static_cast<int64_t>(collective.kind), 0)
            .withOther(r, last, order[last]);
      }
    }
  }
  return std::nullopt;
}

/// `stage 1` or `stages 0, 2`: the stages of these replicas.
static std::string stagesOf(const Problem &problem,
                            const std::vector<int32_t> &replicas) {
  std::set<int32_t> stages;
  for (int32_t replica : replicas)
    stages.insert(problem.replicas[replica].stage);
  std::string text;
  for (int32_t stage : stages)
    text += (text.empty() ? "" : ", ") + std::to_string(stage);
  return (stages.size() == 1 ? "stage " : "stages ") + text;
}

std::optional<Fault> rondo::checkTraining(const Problem &problem,
                                          const TrainingNeeds &needs,
                                          const Program &program) {
  for (const Collective &needed : needs.collectives) {
    auto isIt = [&](const Collective &there) {
      return there.kind == needed.kind && there.tensor == needed.tensor &&
             there.replicas == needed.replicas && there.delay == needed.delay &&
             there.firstElement == needed.firstElement;
    };
    if (std::any_of(program.collectives.begin(), program.collectives.end(),
                    isIt))
      continue;
    const std::string stages = stagesOf(problem, needed.replicas);
    const char *kind = traitsOf(needed.kind).keyword;
    return needed.tensor.empty()
               ? makeRuleFault<FaultKind::CollectiveMissing>(Rule::Tasks, kind,
                                                             stages)
               : makeRuleFault<FaultKind::SumMissing>(Rule::Tasks, kind,
                                                      needed.tensor, stages);
  }
  if (needs.hasSteps && !program.order.hasSteps())
    return makeRuleFault<FaultKind::NoSteps>(Rule::Tasks);
  return std::nullopt;
}
