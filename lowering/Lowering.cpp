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
  for (size_t k = 0; k < program.placements.size(); ++k) {
    const Placement &placement = program.placements[k];
    if (placement.pool < 0)
      continue;
    int part = partOf(buffers[static_cast<int32_t>(k)].kind);
    int &known = partOfPool[placement.pool];
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

std::variant<std::vector<LoweredProgram>, std::string>
lowerSchedule(const PlanFigures &plan, const Problem &problem,
              const Schedule &schedule) {
  std::vector<LoweredProgram> programs;
  Problem sequential = sequentialProblem(problem);
  Schedule inTurn = sequentialSchedule(sequential);
  programs.push_back({ProgramKind::Sequential, std::move(sequential),
                      std::move(inTurn), Program()});
  programs.push_back({ProgramKind::Evaluation, problem,
                      evaluationSchedule(problem), Program()});
  programs.push_back({ProgramKind::Pipeline, problem, schedule, Program()});
  for (LoweredProgram &lowered : programs) {
    Simulation simulation =
        simulate(lowered.executing, lowered.tasks, /*keepTimes=*/true);
    if (!simulation.complete)
      return "cannot place receives, the schedule does not run to its end: " +
             describeCycle(simulation.cycle);
    lowered.program = insertCommunication(
        lowered.executing, lowered.tasks, simulation,
        lowered.kind == ProgramKind::Evaluation ? std::vector<Collective>()
                                                : plan.collectives);
  }
  return programs;
}

std::vector<StageBuffers>
withSharedControl(const std::vector<StageBuffers> &buffers,
                  const std::vector<StageBuffers> &others) {
  std::vector<StageBuffers> result = buffers;
  constexpr int control = static_cast<int>(BufferKind::Control);
  for (size_t s = 0; s < result.size(); ++s)
    result[s][control] = std::max(result[s][control], others[s][control]);
  return result;
}

/// Bytes by stage that hold the data of any of the schedules.
static std::vector<int64_t>
sharedDataBytes(const std::vector<LoweredSchedule> &schedules) {
  std::vector<int64_t> most(schedules.front().plan.buffers.size(), 0);
  for (const LoweredSchedule &each : schedules)
    for (size_t s = 0; s < most.size(); ++s) {
      const int64_t slot =
          each.plan.buffers[s][static_cast<int>(BufferKind::Data)];
      const int64_t bytes =
          (slot + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
      most[s] = std::max(most[s], bytes * each.problem.microbatches);
    }
  return most;
}

std::optional<MemoryFault> planMemory(std::vector<LoweredSchedule> &schedules) {
  const Problem &first = schedules.front().problem;
  // Alone, a schedule says itself which sizes are absurd.
  std::vector<int64_t> dataBytes;
  if (schedules.size() > 1)
    dataBytes = sharedDataBytes(schedules);
  std::vector<int64_t> arena(first.numRanks(), 0);
  for (size_t i = 0; i < schedules.size(); ++i) {
    std::vector<StageBuffers> buffers = schedules[i].plan.buffers;
    for (const LoweredSchedule &other : schedules)
      buffers = withSharedControl(buffers, other.plan.buffers);
    for (size_t p = 0; p < schedules[i].programs.size(); ++p) {
      LoweredProgram &lowered = schedules[i].programs[p];
      if (std::optional<std::string> wrong =
              planMemory(lowered.executing, first.homes, first.numRanks(),
                         buffers, lowered.program, dataBytes))
        return MemoryFault{i, p, *wrong};
      for (size_t rank = 0; rank < arena.size(); ++rank)
        arena[rank] = std::max(arena[rank], lowered.program.arenaBytes[rank]);
    }
  }
  for (LoweredSchedule &each : schedules)
    for (LoweredProgram &lowered : each.programs)
      lowered.program.arenaBytes = arena;
  return std::nullopt;
}

std::optional<ProgramViolation>
checkLowered(const LoweredProgram &lowered,
             const std::vector<int64_t> &devices) {
  const Program &program = lowered.program;
  std::optional<ProgramViolation> violation =
      checkTasks(lowered.executing, lowered.tasks, program);
  if (!violation)
    violation = checkChannels(lowered.executing, program);
  if (!violation)
    violation = checkWaitCycle(lowered.executing, program);
  if (program.arenaBytes.empty() && program.pools.empty())
    return violation;
  // The arena first: it bounds the slots that the buffers' check replays.
  if (!violation)
    violation = checkArena(program, devices);
  if (!violation)
    violation = checkBuffers(lowered.executing, program);
  return violation;
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

/// Programs with messages and memory, or what is wrong.
static std::variant<std::vector<LoweredProgram>, std::string>
lowerAndPlan(const PlanFigures &plan, const Problem &problem,
             const Schedule &schedule) {
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (auto *programs = std::get_if<std::vector<LoweredProgram>>(&lowered)) {
    std::vector<LoweredSchedule> only(1);
    only.front() = {plan, problem, std::move(*programs)};
    if (std::optional<MemoryFault> fault = planMemory(only))
      return fault->message;
    *programs = std::move(only.front().programs);
  }
  return lowered;
}

std::optional<std::vector<int64_t>> arenaOf(const PlanFigures &plan,
                                            const Problem &problem,
                                            const Schedule &schedule) {
  auto lowered = lowerAndPlan(plan, problem, schedule);
  if (auto *programs = std::get_if<std::vector<LoweredProgram>>(&lowered))
    return programs->front().program.arenaBytes;
  return std::nullopt;
}

ProvedPrograms provePrograms(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule) {
  ProvedPrograms result;
  auto lowered = lowerAndPlan(plan, problem, schedule);
  if (auto *fault = std::get_if<std::string>(&lowered)) {
    result.fault = *fault;
    return result;
  }
  auto &programs = std::get<std::vector<LoweredProgram>>(lowered);
  result.arenaBytes = programs.front().program.arenaBytes;
  for (const LoweredProgram &program : programs)
    if (std::optional<ProgramViolation> violation =
            checkLowered(program, plan.devices)) {
      result.fault = violation->message;
      result.isOverCap = violation->isOverCap;
      result.rank = violation->rank;
      if (result.isOverCap)
        result.use = describeArena(programs, violation->rank);
      return result;
    }
  return result;
}

} // namespace rondo
