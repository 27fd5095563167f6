//===- SumWaits.cpp - How long steps wait for sums of gradients -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SumWaits.h"

#include "schedule/program/ProgramSimulator.h"
#include "schedule/simulate/NormDelay.h"

#include <algorithm>
#include <map>

using namespace rondo;

namespace {

/// Waits of a rank's steps: the durations of the awaits before them.
class Waits {
public:
  Waits(const Program &program, const ProgramSimulation &simulation,
        int64_t iterations)
      : program(program), simulation(simulation),
        // Leaves out the first and the last quarter: there the pipeline fills
        // and drains.
        first(iterations / 4), last(iterations - iterations / 4) {
    for (int32_t r = 0; r < program.order.numRanks(); ++r)
      addRank(r);
  }

  StepWait of(size_t collective, int32_t replica) const {
    StepWait wait;
    wait.replica = replica;
    auto found = byStep.find({collective, replica});
    if (found == byStep.end())
      return wait;
    for (int64_t ns : found->second) {
      wait.maxNs = std::max(wait.maxNs, ns);
      wait.meanNs +=
          static_cast<double>(ns) / static_cast<double>(found->second.size());
    }
    return wait;
  }

private:
  void addRank(int32_t r) {
    const ActionRange order = program.order.rank(r);
    const int64_t begin = program.order.rankBegin(r);
    // [collective]: duration of its await since the last step. A sum that an
    // earlier step of the rank awaited costs later steps nothing.
    std::map<size_t, int64_t> awaited;
    for (int64_t i = 0; i < order.size(); ++i) {
      const int64_t t = order[i].index;
      if (order[i].kind() == ActionKind::Await)
        awaited[order[i].subject] =
            simulation.endNs[begin + i] - simulation.startNs[begin + i];
      if (order[i].kind() != ActionKind::Step)
        continue;
      for (size_t c = 0;
           t >= first && t < last && c < program.collectives.size(); ++c)
        byStep[{c, static_cast<int32_t>(order[i].subject)}].push_back(
            awaited.count(c) ? awaited[c] : 0);
      awaited.clear();
    }
  }

  const Program &program;
  const ProgramSimulation &simulation;
  const int64_t first, last;
  /// Keyed by collective and replica.
  std::map<std::pair<size_t, int32_t>, std::vector<int64_t>> byStep;
};

} // namespace

Result<std::vector<SumWait>> rondo::sumWaits(const PlanFigures &plan,
                                             const Problem &window,
                                             const Schedule &schedule,
                                             const Simulation &simulation) {
  std::vector<SumWait> waits;
  for (size_t c = 0; c < plan.collectives.size(); ++c)
    if (plan.collectives[c].kind != CollectiveKind::GradientNorm &&
        !readsSteps(plan.collectives[c].kind))
      waits.push_back({c, std::nullopt, {}});
  if (waits.empty())
    return waits;
  auto lowered = lowerSchedule(plan, window, schedule);
  if (!lowered)
    return std::move(lowered.fault());
  for (const LoweredProgram &each : *lowered) {
    if (each.kind != ProgramKind::Pipeline)
      continue;
    const ProgramSimulation times =
        simulateProgram(each.executing, each.program);
    if (!times.complete)
      return makeFault<FaultKind::ReceivesNotPlaced>().withCycle(times.cycle);
    const Waits found(each.program, times, window.iterations);
    for (SumWait &wait : waits) {
      const Collective &sum = plan.collectives[wait.collective];
      wait.iterations = lateness(window, schedule, simulation, sum.replicas,
                                 sum.ns, MadeBy::Gradients);
      // In the pipeline's program the sums keep their numbers, before the norm.
      for (int32_t replica : sum.replicas)
        wait.steps.push_back(found.of(wait.collective, replica));
    }
  }
  return waits;
}
