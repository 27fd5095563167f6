//===- Lowering.cpp - The programs of a schedule, as values ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "schedule/BufferNumbers.h"

#include <algorithm>

namespace rondo {

namespace {

/// Bytes of a rank's pools by what lies in them.
struct ArenaUse {
  enum Part {
    Weights,
    Gradients,
    Moments,
    ControlAndData,
    Workspace,
    Activations,
    Messages,
    /// Pools whose slots serve both in turn.
    Either,
    numParts
  };
  int64_t bytes[numParts] = {};

  int64_t total() const {
    int64_t sum = 0;
    for (int64_t part : bytes)
      sum += part;
    return sum;
  }
};

ArenaUse::Part partOf(BufferKind kind) {
  switch (kind) {
  case BufferKind::Weights:
    return ArenaUse::Weights;
  case BufferKind::Gradients:
    return ArenaUse::Gradients;
  case BufferKind::Moments:
    return ArenaUse::Moments;
  case BufferKind::Control:
  case BufferKind::Data:
    return ArenaUse::ControlAndData;
  case BufferKind::Workspace:
    return ArenaUse::Workspace;
  case BufferKind::SavedForInputGrad:
  case BufferKind::SavedForWeightGrad:
  case BufferKind::Checkpoints:
  case BufferKind::RecomputedForInputGrad:
  case BufferKind::RecomputedForWeightGrad:
    return ArenaUse::Activations;
  case BufferKind::Input:
  case BufferKind::Output:
  case BufferKind::OutputGrad:
  case BufferKind::InputGrad:
    break;
  }
  return ArenaUse::Messages;
}

ArenaUse useOf(const LoweredProgram &lowered, int32_t rank) {
  const Program &program = lowered.program;
  const BufferNumbers buffers(lowered.executing);
  std::vector<int> partOfPool(program.pools.size(), -1);
  for (size_t k = 0; k < program.places.size(); ++k) {
    const Place &place = program.places[k];
    if (place.pool < 0)
      continue;
    int part = partOf(buffers[static_cast<int32_t>(k)].kind);
    int &known = partOfPool[place.pool];
    known = known < 0 || known == part ? part : int(ArenaUse::Either);
  }
  ArenaUse use;
  for (size_t p = 0; p < program.pools.size(); ++p)
    if (const Pool &pool = program.pools[p];
        partOfPool[p] >= 0 && pool.rank == rank)
      use.bytes[partOfPool[p]] += pool.slotBytes * pool.slots;
  return use;
}

const char *nameOf(ProgramKind kind) {
  switch (kind) {
  case ProgramKind::Sequential:
    return "the sequential reference";
  case ProgramKind::Evaluation:
    return "the evaluation";
  case ProgramKind::Pipeline:
    break;
  }
  return "the pipeline";
}

} // namespace

Problem executingProblem(ProgramKind kind, const Problem &problem) {
  return kind == ProgramKind::Sequential ? sequentialProblem(problem) : problem;
}

TrainingNeeds PlanFigures::needsOf(ProgramKind kind) const {
  TrainingNeeds needs;
  if (kind == ProgramKind::Evaluation)
    return needs;
  needs.hasSteps = declaresWeights;
  for (const Collective &collective : collectives)
    if (kind != ProgramKind::Pipeline || hasNorm ||
        collective.kind != CollectiveKind::GradientNorm)
      needs.collectives.push_back(collective);
  return needs;
}

Result<std::vector<LoweredProgram>> lowerSchedule(const PlanFigures &plan,
                                                  const Problem &problem,
                                                  const Schedule &schedule) {
  std::vector<LoweredProgram> programs;
  Problem sequential = executingProblem(ProgramKind::Sequential, problem);
  Schedule inTurn = sequentialSchedule(sequential);
  programs.push_back({ProgramKind::Sequential, std::move(sequential),
                      std::move(inTurn), Program()});
  programs.push_back({ProgramKind::Evaluation, problem,
                      evaluationSchedule(problem), Program()});
  programs.push_back({ProgramKind::Pipeline, problem, schedule, Program()});
  for (LoweredProgram &lowered : programs) {
    Simulation simulation =
        simulate(lowered.executing, lowered.tasks, /*keepTimes=*/true);
    if (!simulation.complete) {
      Fault fault = makeFault<FaultKind::ReceivesNotPlaced>();
      fault.cycle = std::move(simulation.cycle);
      return fault;
    }
    lowered.program =
        insertCommunication(lowered.executing, lowered.tasks, simulation,
                            plan.needsOf(lowered.kind));
  }
  return programs;
}

std::vector<HomeBuffers>
withSharedControl(const std::vector<HomeBuffers> &buffers,
                  const std::vector<HomeBuffers> &others) {
  std::vector<HomeBuffers> result = buffers;
  constexpr int control = static_cast<int>(BufferKind::Control);
  for (size_t s = 0; s < result.size(); ++s)
    result[s][control] = std::max(result[s][control], others[s][control]);
  return result;
}

/// Bytes by home that hold the data of any of the schedules.
static std::vector<int64_t>
sharedDataBytes(const std::vector<LoweredSchedule> &schedules) {
  std::vector<int64_t> most(schedules.front().plan.buffers.size(), 0);
  for (const LoweredSchedule &each : schedules)
    for (size_t s = 0; s < most.size(); ++s) {
      const int64_t slot =
          each.plan.buffers[s][static_cast<int>(BufferKind::Data)];
      const int64_t bytes =
          (slot + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
      most[s] = std::max(most[s], bytes * each.problem.homes[s].numTaken(
                                              each.problem.microbatches));
    }
  return most;
}

namespace {

/// Where a buffer lies: the rank of its arena and the offsets of its slots.
using Addresses = std::pair<int32_t, std::vector<int64_t>>;

Addresses addressesOf(const Program &program, int32_t home, BufferKind kind) {
  Addresses addresses(-1, {});
  const Place &place = program.place(home, kind);
  if (place.pool < 0)
    return addresses;
  const Pool &pool = program.pools[place.pool];
  addresses.first = pool.rank;
  for (int32_t slot : place.slotOf)
    addresses.second.push_back(pool.offset + slot * pool.slotBytes);
  return addresses;
}

std::string textOf(const Addresses &addresses) {
  if (addresses.first < 0)
    return "nowhere";
  return "at byte " + std::to_string(addresses.second.front()) + " of rank " +
         std::to_string(addresses.first);
}

/// State that lies elsewhere than in another program of the executable.
std::optional<Fault> findMovedState(const Program &program,
                                    const LoweredProgram &first) {
  for (int32_t home = 0; home < first.executing.homes.size(); ++home)
    for (const BufferTraits &traits : bufferTable) {
      // Data are filled in before each run, wherever they lie.
      if (!traits.isState() || traits.owner != Owner::Stage ||
          traits.slotPer == SlotPer::Microbatch)
        continue;
      const Addresses here = addressesOf(program, home, traits.kind),
                      there = addressesOf(first.program, home, traits.kind);
      if (here != there)
        return makeFault<FaultKind::MovedState>(
            traits.keyword, first.executing.homes[home].stage, textOf(here),
            nameOf(first.kind), textOf(there));
    }
  return std::nullopt;
}

} // namespace

std::optional<MemoryFault> planMemory(std::vector<LoweredSchedule> &schedules) {
  const Problem &first = schedules.front().problem;
  // Alone, a schedule says itself which sizes are absurd.
  std::vector<int64_t> dataBytes;
  if (schedules.size() > 1)
    dataBytes = sharedDataBytes(schedules);
  std::vector<int64_t> arena(first.numRanks(), 0);
  for (size_t i = 0; i < schedules.size(); ++i) {
    std::vector<HomeBuffers> buffers = schedules[i].plan.buffers;
    for (const LoweredSchedule &other : schedules)
      buffers = withSharedControl(buffers, other.plan.buffers);
    for (size_t p = 0; p < schedules[i].programs.size(); ++p) {
      LoweredProgram &lowered = schedules[i].programs[p];
      if (!lowered.program.arenaBytes.empty()) {
        if (lowered.program.arenaBytes.size() != arena.size())
          return MemoryFault{
              i, p,
              makeFault<FaultKind::ArenaCount>(
                  lowered.program.arenaBytes.size(), arena.size())};
      } else if (std::optional<Fault> fault = planMemory(
                     lowered.executing, first.homes, first.numRanks(), buffers,
                     lowered.program, dataBytes)) {
        return MemoryFault{i, p, std::move(*fault)};
      }
      for (size_t rank = 0; rank < arena.size(); ++rank)
        arena[rank] = std::max(arena[rank], lowered.program.arenaBytes[rank]);
    }
  }
  for (size_t i = 0; i < schedules.size(); ++i)
    for (size_t p = 0; p < schedules[i].programs.size(); ++p) {
      Program &program = schedules[i].programs[p].program;
      if (std::optional<Fault> moved =
              findMovedState(program, schedules.front().programs.front()))
        return MemoryFault{i, p, std::move(*moved)};
      program.arenaBytes = arena;
    }
  return std::nullopt;
}

std::optional<Fault> checkLowered(const LoweredProgram &lowered,
                                  const PlanFigures &plan) {
  const Program &program = lowered.program;
  std::optional<Fault> fault =
      checkTasks(lowered.executing, lowered.tasks, program);
  if (!fault)
    fault =
        checkTraining(lowered.executing, plan.needsOf(lowered.kind), program);
  if (!fault)
    fault = checkChannels(lowered.executing, program);
  if (!fault)
    fault = checkWaitCycle(lowered.executing, program);
  if (program.arenaBytes.empty() && program.pools.empty())
    return fault;
  // The arena first: it bounds the slots that the buffers' check replays.
  if (!fault)
    fault = checkArena(program, plan.devices);
  if (!fault)
    fault = checkBuffers(lowered.executing, program);
  return fault;
}

std::string describeArena(const std::vector<LoweredProgram> &programs,
                          int32_t rank) {
  constexpr const char *names[] = {
      "weights",         "gradients",
      "optimizer state", "control and data",
      "workspace",       "activations",
      "messages",        "activations and messages"};
  ArenaUse fullest;
  ProgramKind kind = ProgramKind::Pipeline;
  for (auto lowered = programs.rbegin(); lowered != programs.rend();
       ++lowered) {
    ArenaUse use = useOf(*lowered, rank);
    if (use.total() <= fullest.total())
      continue;
    fullest = use;
    kind = lowered->kind;
  }
  std::string text;
  for (int part = 0; part < ArenaUse::numParts; ++part)
    if (int64_t bytes = fullest.bytes[part]; bytes > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(bytes) +
              (text.empty() ? " bytes of " : " of ") + names[part];
  if (kind != ProgramKind::Pipeline)
    text += std::string(", in ") + nameOf(kind);
  return text;
}

namespace {

/// Programs with messages and memory; or a fault, of a program of some kind.
struct PlannedPrograms {
  std::vector<LoweredProgram> programs;
  std::optional<Fault> fault;
  ProgramKind faulty = ProgramKind::Pipeline;
};

PlannedPrograms lowerAndPlan(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule) {
  PlannedPrograms result;
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (auto *fault = std::get_if<Fault>(&lowered)) {
    result.fault = std::move(*fault);
    return result;
  }
  std::vector<LoweredSchedule> only(1);
  only.front() = {plan, problem,
                  std::move(std::get<std::vector<LoweredProgram>>(lowered))};
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

bool mayBlock(const Problem &problem) {
  return problem.channels.receiveSlots > 0 ||
         problem.channels.queues == Queues::PerRank;
}

std::optional<Fault> findBlocked(const PlanFigures &plan,
                                 const Problem &problem,
                                 const Schedule &schedule) {
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (auto *fault = std::get_if<Fault>(&lowered))
    return std::move(*fault);
  for (const LoweredProgram &each :
       std::get<std::vector<LoweredProgram>>(lowered))
    if (auto fault = checkWaitCycle(each.executing, each.program))
      return fault;
  return std::nullopt;
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
    break;
  }
  return result;
}

std::string describeFault(const ProvedPrograms &proved,
                          const Problem &problem) {
  return describe(*proved.fault, executingProblem(proved.faulty, problem));
}

} // namespace rondo
