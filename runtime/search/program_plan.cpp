//===- program_plan.cpp - Programs like those of an executable ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/search/program_plan.h"

#include "lowering/Communication.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

static_assert(numBuffers == numBufferKinds);

/// Null: the replica has no such buffer.
static const Pool *poolOf(const Program &program, int32_t replica,
                          BufferKind kind) {
  const Place &place = program.place(replica, kind);
  return place.pool < 0 ? nullptr : &program.pools[place.pool];
}

static int64_t endOf(const Pool &pool) {
  return pool.offset + pool.slotBytes * pool.slots;
}

PlanFigures rondo::runtime::figuresOf(const LikeProgram &of) {
  const Executable &exe = of.executable;
  const ProgramDesc &like = of.desc;
  const Program &own = of.values.program;
  PlanFigures plan;
  plan.buffers.resize(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    std::copy_n(like.shares[h].bytes, numBufferKinds, plan.buffers[h].begin());
    // As large as the programs of all sizes of micro-batches need it.
    if (const Pool *control = poolOf(own, h, BufferKind::Control))
      plan.buffers[h][static_cast<size_t>(BufferKind::Control)] =
          control->slotBytes;
  }
  plan.collectives = own.collectives;
  plan.hasNorm = computesNorm(like);
  plan.resident = residentOf(like);
  plan.devices.assign(exe.arenaBytes, exe.arenaBytes + exe.numRanks);
  for (int32_t r = 0; r < own.order.numRanks(); ++r)
    for (Action action : own.order.rank(r))
      plan.declaresWeights |= action.kind() == ActionKind::Step;
  for (int32_t pool : own.staging)
    plan.stagingBytes.push_back(pool < 0 ? 0 : own.pools[pool].slotBytes);
  return plan;
}

/// Memory that programs with other micro-batches need for their data.
static KeptBytes keptBytes(const LikeProgram &like, const PlanFigures &plan) {
  const Program &own = like.values.program;
  KeptBytes kept;
  kept.staging = plan.stagingBytes;
  kept.data.assign(like.executable.numReplicas, 0);
  for (int32_t h = 0; h < like.executable.numReplicas; ++h) {
    const Pool *data = poolOf(own, h, BufferKind::Data);
    if (!data)
      continue;
    int64_t next = endOf(*data);
    bool isLast = true;
    for (const Pool &other : own.pools) {
      if (other.isOnHost || other.rank != data->rank ||
          other.offset <= data->offset)
        continue;
      next = isLast ? other.offset : std::min(next, other.offset);
      isLast = false;
    }
    kept.data[h] = next - data->offset;
  }
  return kept;
}

void rondo::runtime::setBytes(const Problem &problem, int32_t h,
                              const ReplicaBuffers &buffers, Cost *row) {
  auto at = [&](BufferKind kind) { return buffers[static_cast<size_t>(kind)]; };
  auto cost = [&](ActionKind kind) -> Cost & { return row[costColumn(kind)]; };
  const int64_t forInput = at(BufferKind::SavedForInputGrad),
                forWeight = at(BufferKind::SavedForWeightGrad),
                awayForInput = at(BufferKind::OffloadedForInputGrad),
                awayForWeight = at(BufferKind::OffloadedForWeightGrad),
                checkpoints = at(BufferKind::Checkpoints),
                kept = at(BufferKind::KeptForWeightGrad),
                againForInput = at(BufferKind::RecomputedForInputGrad),
                againForWeight = at(BufferKind::RecomputedForWeightGrad);
  auto set = [&](ActionKind kind, int64_t takes, int64_t frees) {
    cost(kind).acquireBytes = takes;
    cost(kind).releaseBytes = frees;
  };
  const bool areCheckpoints =
      problem.hostMemory.mayCopy(h) &&
      problem.hostMemory.loads[h] == LoadBefore::Recompute;
  const int64_t awayForAgain = areCheckpoints ? awayForInput : 0;
  set(ActionKind::Forward,
      forInput + forWeight + awayForInput + awayForWeight + checkpoints, 0);
  if (problem.recomputes(h))
    set(ActionKind::Recompute, againForInput + againForWeight,
        checkpoints + awayForAgain);
  set(ActionKind::InputGrad, kept,
      forInput + awayForInput - awayForAgain + againForInput);
  set(ActionKind::WeightGrad, 0,
      forWeight + awayForWeight + againForWeight + kept);
  // Measured as its two halves.
  cost(ActionKind::Backward).ns =
      cost(ActionKind::InputGrad).ns + cost(ActionKind::WeightGrad).ns;
  set(ActionKind::Backward, kept,
      forInput + awayForInput - awayForAgain + againForInput + forWeight +
          awayForWeight + againForWeight + kept);
  if (problem.hostMemory.mayCopy(h)) {
    set(ActionKind::Save, 0, awayForInput + awayForWeight);
    set(ActionKind::Load, awayForInput + awayForWeight, 0);
  }
  if (!problem.replicas[h].isSharded())
    return;
  const int64_t gathered = at(BufferKind::GatheredWeights);
  set(ActionKind::Unshard, gathered, 0);
  set(ActionKind::Reshard, 0, gathered);
  set(ActionKind::ReduceGrad, 0, at(BufferKind::UnreducedGradients));
}

void rondo::runtime::setCaps(const LikeProgram &like, Problem &problem) {
  const Program &own = like.values.program;
  std::vector<int64_t> stateEnd(problem.numRanks(), 0);
  auto count = [&](const Pool &pool) {
    stateEnd[pool.rank] = std::max(stateEnd[pool.rank], endOf(pool));
  };
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (const BufferTraits &traits : bufferTable)
      if (const Pool *pool = poolOf(own, h, traits.kind);
          pool && traits.isState())
        count(*pool);
  for (int32_t pool : own.staging)
    if (pool >= 0)
      count(own.pools[pool]);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.memoryCaps[r] =
        std::max<int64_t>(0, like.executable.arenaBytes[r] - stateEnd[r]);
}

std::optional<Fault> rondo::runtime::placeLike(const LikeProgram &like,
                                               const PlanFigures &plan,
                                               const Problem &problem,
                                               LoweredProgram &lowered) {
  const Problem executing = executingProblem(lowered.kind, problem);
  lowered.program = insertCommunication(executing, lowered.tasks,
                                        simulate(executing, lowered.tasks,
                                                 /*keepTimes=*/true),
                                        plan.needsOf(lowered.kind));
  lowered.program.resident = plan.resident;
  if (auto fault = planMemory({executing, problem.replicas, problem.numRanks(),
                               plan.buffers, keptBytes(like, plan),
                               &plan.buffersByMicrobatch, &plan.devices},
                              lowered.program))
    return fault;
  if (std::optional<Fault> fault = checkLowered(lowered, plan))
    return fault;
  return findMoved(lowered.program,
                   {lowered.kind, lowered.executing, Schedule(),
                    like.values.program, ProgramSimulation()});
}

Schedule rondo::runtime::tasksOf(const Program &program) {
  Schedule tasks;
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    for (Action action : program.order.rank(r))
      if (action.isTask() || action.traits().isCopy() ||
          action.traits().movesState())
        tasks.append(action);
    tasks.endRank();
  }
  return tasks;
}
