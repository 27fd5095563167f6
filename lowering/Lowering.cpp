//===- Lowering.cpp - The programs of a schedule, as values ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"

#include "lowering/Communication.h"
#include "lowering/ReferenceOrders.h"
#include "schedule/order/Repeating.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/rules/Rules.h"
#include "schedule/transforms/Iterations.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace rondo {

Problem executingProblem(ProgramKind kind, const Problem &problem) {
  if (kind == ProgramKind::Pipeline)
    return problem;
  if (problem.iterations > 1)
    return executingProblem(kind, oneIteration(problem));
  if (kind == ProgramKind::Sequential)
    return sequentialProblem(problem);
  // One message is read while the next one arrives.
  constexpr int32_t slots = 2;
  Problem evaluation = problem.withoutCopies();
  int32_t &posted = evaluation.channels.receiveSlots;
  posted = posted == 0 ? slots : std::min(posted, slots);
  return evaluation;
}

TrainingNeeds PlanFigures::needsOf(ProgramKind kind) const {
  TrainingNeeds needs;
  if (kind == ProgramKind::Evaluation) {
    for (const Collective &collective : collectives)
      if (collective.kind == CollectiveKind::GatherWeights)
        needs.collectives.push_back(collective);
    return needs;
  }
  needs.hasSteps = declaresWeights;
  for (const Collective &collective : collectives)
    if (kind != ProgramKind::Pipeline || hasNorm ||
        collective.kind != CollectiveKind::GradientNorm) {
      needs.collectives.push_back(collective);
      // The reference runs one iteration at a time.
      if (kind != ProgramKind::Pipeline)
        needs.collectives.back().delay = 0;
    }
  return needs;
}

/// Replaces the order of a window's program by the repeating order, for the
/// drain as well.
static std::optional<Fault> repeatProgram(const Problem &window,
                                          Program &program) {
  const int64_t each = window.microbatchesEach();
  auto found = findRepetition(program.order, window.iterations, each);
  if (!found)
    return std::move(found.fault());
  program.order = runOf(*found, window.iterations, each);
  return std::nullopt;
}

/// Inserts the messages into the tasks of `lowered`. `known`: the simulation of
/// the tasks, or null.
static std::optional<Fault> addMessages(const PlanFigures &plan,
                                        LoweredProgram &lowered,
                                        const Simulation *known) {
  // The sequential reference has no messages, so inserting communication needs
  // times only for the moves of sharded state.
  const bool needsTimes = lowered.kind != ProgramKind::Sequential ||
                          lowered.executing.replicas.areSharded();
  Simulation own;
  if (!known && needsTimes)
    own = simulate(lowered.executing, lowered.tasks, /*keepTimes=*/true);
  const Simulation &simulation = known ? *known : own;
  if (needsTimes && !simulation.complete)
    return makeFault<FaultKind::ReceivesNotPlaced>().withCycle(
        simulation.cycle);
  lowered.program = insertCommunication(lowered.executing, lowered.tasks,
                                        simulation, plan.needsOf(lowered.kind));
  lowered.program.resident = plan.resident;
  if (lowered.executing.iterations == 1)
    return std::nullopt;
  return repeatProgram(lowered.executing, lowered.program);
}

Schedule tasksOf(ProgramKind kind, const Problem &executing,
                 const Problem &problem, const Schedule &schedule) {
  switch (kind) {
  case ProgramKind::Sequential:
    return sequentialSchedule(executing, unitsOf(problem, schedule),
                              schedule.accumulation);
  case ProgramKind::Evaluation:
    return evaluationSchedule(executing);
  case ProgramKind::Pipeline:
    break;
  }
  return schedule.hasCounts() ? withSingleBackwards(schedule) : schedule;
}

Result<std::vector<LoweredProgram>>
lowerSchedule(const PlanFigures &plan, const Problem &problem,
              const Schedule &schedule, const ForEach &forEach,
              const Simulation *simulation) {
  if (problem.iterations == 1 && schedule.hasCounts())
    return makeFault<FaultKind::CountInOneIteration>();
  if (problem.iterations > 1 && schedule.hasCopies())
    return makeFault<FaultKind::CopiesInWindow>();
  std::vector<LoweredProgram> programs(3);
  programs[0].kind = ProgramKind::Sequential;
  programs[1].kind = ProgramKind::Evaluation;
  programs[2].kind = ProgramKind::Pipeline;
  std::vector<std::optional<Fault>> faults(programs.size());
  fromTheLast(forEach, programs.size(), [&](size_t i) {
    LoweredProgram &lowered = programs[i];
    lowered.executing = executingProblem(lowered.kind, problem);
    lowered.tasks = tasksOf(lowered.kind, lowered.executing, problem, schedule);
    const bool isSchedule =
        lowered.kind == ProgramKind::Pipeline && !schedule.hasCounts();
    faults[i] = addMessages(plan, lowered, isSchedule ? simulation : nullptr);
  });
  for (std::optional<Fault> &fault : faults)
    if (fault)
      return std::move(*fault);
  return programs;
}

VersionMemory sharedVersions(const VersionMemory &a, const VersionMemory &b) {
  auto most = [](auto first, const auto &second) {
    first.resize(std::max(first.size(), second.size()));
    for (size_t replica = 0; replica < second.size(); ++replica)
      first[replica] = std::max(first[replica], second[replica]);
    return first;
  };
  return {most(a.weightSlots, b.weightSlots),
          most(a.scratchBytes, b.scratchBytes)};
}

std::vector<ReplicaBuffers>
withVersionMemory(const std::vector<ReplicaBuffers> &buffers,
                  const VersionMemory &versions) {
  std::vector<ReplicaBuffers> result = buffers;
  for (size_t replica = 0; replica < versions.scratchBytes.size(); ++replica) {
    if (versions.scratchBytes[replica] == 0)
      continue;
    auto at = [&](BufferKind kind) -> int64_t & {
      return result[replica][static_cast<int>(kind)];
    };
    at(BufferKind::WeightChanges) = at(BufferKind::Gradients);
    at(BufferKind::Workspace) += versions.scratchBytes[replica];
  }
  return result;
}

std::vector<ReplicaBuffers>
withSharedControl(const std::vector<ReplicaBuffers> &buffers,
                  const std::vector<ReplicaBuffers> &others) {
  std::vector<ReplicaBuffers> result = buffers;
  constexpr int control = static_cast<int>(BufferKind::Control);
  for (size_t s = 0; s < result.size(); ++s)
    result[s][control] = std::max(result[s][control], others[s][control]);
  return result;
}

static ProgramDemands demandsOf(const CheckedProgram &checked) {
  const PlanFigures &plan = *checked.plan;
  return {checked.tasks, plan.needsOf(checked.kind), plan.devices,
          plan.stagingOf(checked.kind), &plan.delays};
}

void checkLowered(std::vector<CheckedProgram> &programs,
                  const ForEach &forEach) {
  std::vector<size_t> largestFirst(programs.size());
  std::iota(largestFirst.begin(), largestFirst.end(), size_t(0));
  auto sizeOf = [&](size_t i) {
    return programs[i].program->order.numActions();
  };
  std::stable_sort(largestFirst.begin(), largestFirst.end(),
                   [&](size_t a, size_t b) { return sizeOf(a) > sizeOf(b); });
  const std::vector<RuleChain> &chains = programRuleChains();
  std::vector<std::optional<Fault>> found(chains.size() * programs.size());
  // The last rule chains take longest (memory, then messages), so they start
  // first.
  forEach(found.size(), [&](size_t i) {
    const size_t which = largestFirst[i % programs.size()],
                 chain = chains.size() - 1 - i / programs.size();
    const CheckedProgram &checked = programs[which];
    found[which * chains.size() + chain] =
        checkChain(chains[chain], *checked.executing, *checked.program,
                   demandsOf(checked));
  });
  for (size_t i = 0; i < found.size(); ++i)
    if (std::optional<Fault> &fault = programs[i / chains.size()].fault; !fault)
      fault = std::move(found[i]);
}

std::optional<Fault> checkLowered(const LoweredProgram &lowered,
                                  const PlanFigures &plan,
                                  const ForEach &forEach) {
  std::vector<CheckedProgram> one = {{lowered.kind, &lowered.executing,
                                      &lowered.tasks, &lowered.program, &plan,
                                      std::nullopt}};
  checkLowered(one, forEach);
  return std::move(one.front().fault);
}

namespace {

/// Programs with messages and memory; or a fault and the kind of the faulty
/// program.
struct PlannedPrograms {
  std::vector<LoweredProgram> programs;
  std::optional<Fault> fault;
  ProgramKind faulty = ProgramKind::Pipeline;
};

PlannedPrograms lowerAndPlan(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule) {
  PlannedPrograms result;
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (!lowered) {
    result.fault = std::move(lowered.fault());
    return result;
  }
  std::vector<LoweredSchedule> only(1);
  only.front() = {plan, problem, std::move(*lowered)};
  std::optional<MemoryFault> wrong = planMemory(only);
  result.programs = std::move(only.front().programs);
  if (wrong) {
    result.faulty = result.programs[wrong->program].kind;
    result.fault = std::move(wrong->fault);
  }
  return result;
}

} // namespace

std::optional<std::vector<int64_t>> arenaOf(const PlanFigures &plan,
                                            const Problem &problem,
                                            const Schedule &schedule) {
  PlannedPrograms planned = lowerAndPlan(plan, problem, schedule);
  if (planned.fault)
    return std::nullopt;
  return std::move(planned.programs.front().program.arenaBytes);
}

/// The most queues of one rank: one to each rank that it sends to, one from
/// each rank that it receives from, and one for collectives.
static int32_t maxQueues(const Problem &problem) {
  std::set<std::pair<int32_t, int32_t>> channels;
  for (const Edge &edge : problem.edges)
    channels.insert({problem.rankOf(edge.from), problem.rankOf(edge.to)});
  std::vector<int32_t> queues(problem.numRanks(), 1);
  for (const auto &[from, to] : channels)
    if (from != to) {
      ++queues[from];
      ++queues[to];
    }
  return *std::max_element(queues.begin(), queues.end());
}

bool mayBlock(const PlanFigures &plan, const Problem &problem) {
  return problem.channels.receiveSlots > 0 ||
         problem.channels.queues == Queues::PerRank ||
         (plan.resident > 0 && maxQueues(problem) > plan.resident);
}

std::optional<Fault> findBlocked(const PlanFigures &plan,
                                 const Problem &problem,
                                 const Schedule &schedule) {
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (!lowered)
    return std::move(lowered.fault());
  for (const LoweredProgram &each : *lowered) {
    if (auto fault = checkWaitCycle(each.executing, each.program))
      return fault;
    if (auto fault = checkResidency(each.executing, each.program))
      return fault;
  }
  return std::nullopt;
}

/// Sets what the pools take that buffers of many sizes share.
static void measureRagged(const Problem &problem, ProvedPrograms &proved) {
  const Program &program = proved.pipeline;
  proved.placedBytes.assign(problem.numRanks(), 0);
  proved.heldBytes = proved.placedBytes;
  std::vector<bool> isRagged(program.pools.size());
  for (const Place &place : program.places)
    if (place.pool >= 0 && !place.spans.empty())
      isRagged[place.pool] = true;
  const std::vector<int64_t> held = mostOwnedSlots(problem, program);
  for (size_t p = 0; p < program.pools.size(); ++p) {
    const Pool &pool = program.pools[p];
    if (!isRagged[p])
      continue;
    proved.placedBytes[pool.rank] += pool.slots * pool.slotBytes;
    proved.heldBytes[pool.rank] += held[p] * pool.slotBytes;
  }
}

ProvedPrograms provePrograms(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule) {
  ProvedPrograms result;
  PlannedPrograms planned = lowerAndPlan(plan, problem, schedule);
  if (planned.fault) {
    result.fault = std::move(planned.fault);
    result.faulty = planned.faulty;
    return result;
  }
  result.arenaBytes = planned.programs.front().program.arenaBytes;
  for (const LoweredProgram &program : planned.programs) {
    result.fault = checkLowered(program, plan);
    if (!result.fault)
      continue;
    result.faulty = program.kind;
    if (result.isOverCap())
      result.use = describeArena(planned.programs, result.fault->rank);
    return result;
  }
  for (LoweredProgram &program : planned.programs)
    if (program.kind == ProgramKind::Pipeline)
      result.pipeline = std::move(program.program);
  if (!plan.buffersByMicrobatch.empty())
    measureRagged(problem, result);
  result.iterationNs =
      simulateProgram(problem, result.pipeline, result.pipeline.resident,
                      /*keepTimes=*/false)
          .makespanNs;
  return result;
}

std::string describeFault(const ProvedPrograms &proved,
                          const Problem &problem) {
  return describe(*proved.fault, executingProblem(proved.faulty, problem));
}

} // namespace rondo
