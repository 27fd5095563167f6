//===- schedule_search.cpp - Looks for schedules during a run -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/schedule_search.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "planning/FittingSearch.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

static_assert(numBuffers == numBufferKinds);

static int64_t &bytesOf(HomeBuffers &buffers, BufferKind kind) {
  return buffers[static_cast<size_t>(kind)];
}

/// Null: the home has no such buffer.
static const PoolDesc *poolOf(const ProgramDesc &program, int32_t home,
                              BufferKind kind) {
  const PlaceDesc &place =
      program.places[home * numBufferKinds + static_cast<int>(kind)];
  return place.pool < 0 ? nullptr : &program.pools[place.pool];
}

static int64_t endOf(const PoolDesc &pool) {
  return pool.offset + pool.slotBytes * pool.slots;
}

static PlanFigures figuresOf(const SearchRequest &request) {
  const Executable &exe = request.executable;
  const ProgramDesc &like = request.like;
  PlanFigures plan;
  plan.buffers.resize(exe.numHomes);
  for (int32_t h = 0; h < exe.numHomes; ++h) {
    std::copy_n(like.shares[h].bytes, numBufferKinds, plan.buffers[h].begin());
    // As large as the programs of all sizes of micro-batches need it.
    if (const PoolDesc *control = poolOf(like, h, BufferKind::Control))
      bytesOf(plan.buffers[h], BufferKind::Control) = control->slotBytes;
  }
  plan.collectives = request.values.program.collectives;
  plan.hasNorm = computesNorm(like);
  plan.devices.assign(exe.arenaBytes, exe.arenaBytes + exe.numRanks);
  const Schedule &order = request.values.program.order;
  for (int32_t r = 0; r < order.numRanks(); ++r)
    for (Action action : order.rank(r))
      plan.declaresWeights |= action.kind() == ActionKind::Step;
  if (like.staging) {
    plan.stagingBytes.assign(like.numRanks, 0);
    for (int32_t r = 0; r < like.numRanks; ++r)
      if (like.staging[r] >= 0)
        plan.stagingBytes[r] = like.pools[like.staging[r]].slotBytes;
  }
  return plan;
}

/// Room that programs with other micro-batches need for their data.
static KeptBytes keptBytes(const SearchRequest &request,
                           const PlanFigures &plan) {
  const ProgramDesc &like = request.like;
  KeptBytes kept;
  kept.staging = plan.stagingBytes;
  kept.data.assign(request.executable.numHomes, 0);
  for (int32_t h = 0; h < request.executable.numHomes; ++h) {
    const PoolDesc *data = poolOf(like, h, BufferKind::Data);
    if (!data)
      continue;
    int64_t next = endOf(*data);
    bool isLast = true;
    for (int32_t p = 0; p < like.numPools; ++p) {
      const PoolDesc &other = like.pools[p];
      if (other.rank != data->rank || other.offset <= data->offset)
        continue;
      next = isLast ? other.offset : std::min(next, other.offset);
      isLast = false;
    }
    kept.data[h] = next - data->offset;
  }
  return kept;
}

/// What activations hold, and what state leaves of the arenas for them.
static void addMemory(const SearchRequest &request, PlanFigures &plan,
                      Problem &problem) {
  for (int32_t h = 0; h < problem.numHomes(); ++h) {
    HomeBuffers &buffers = plan.buffers[h];
    const int64_t forInput = bytesOf(buffers, BufferKind::SavedForInputGrad),
                  forWeight = bytesOf(buffers, BufferKind::SavedForWeightGrad),
                  checkpoints = bytesOf(buffers, BufferKind::Checkpoints),
                  againForInput =
                      bytesOf(buffers, BufferKind::RecomputedForInputGrad),
                  againForWeight =
                      bytesOf(buffers, BufferKind::RecomputedForWeightGrad);
    auto set = [&](ActionKind kind, int64_t takes, int64_t frees) {
      problem.cost(h, kind).acquireBytes = takes;
      problem.cost(h, kind).releaseBytes = frees;
    };
    set(ActionKind::Forward, forInput + forWeight + checkpoints, 0);
    if (problem.recomputes(h))
      set(ActionKind::Recompute, againForInput + againForWeight, checkpoints);
    set(ActionKind::InputGrad, 0, forInput + againForInput);
    set(ActionKind::WeightGrad, 0, forWeight + againForWeight);
    // Measured as its two halves.
    Cost &backward = problem.cost(h, ActionKind::Backward);
    backward.ns = problem.cost(h, ActionKind::InputGrad).ns +
                  problem.cost(h, ActionKind::WeightGrad).ns;
    set(ActionKind::Backward, 0,
        forInput + againForInput + forWeight + againForWeight);
  }
  std::vector<int64_t> stateEnd(problem.numRanks(), 0);
  auto count = [&](const PoolDesc &pool) {
    stateEnd[pool.rank] = std::max(stateEnd[pool.rank], endOf(pool));
  };
  for (int32_t h = 0; h < problem.numHomes(); ++h)
    for (const BufferTraits &traits : bufferTable)
      if (const PoolDesc *pool = poolOf(request.like, h, traits.kind);
          pool && traits.isState())
        count(*pool);
  for (int32_t r = 0; request.like.staging && r < request.like.numRanks; ++r)
    if (request.like.staging[r] >= 0)
      count(request.like.pools[request.like.staging[r]]);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.memoryCaps[r] =
        std::max<int64_t>(0, request.executable.arenaBytes[r] - stateEnd[r]);
}

/// Whether every stage's state lies where the executable's programs have it.
static bool keepsState(const ProgramDesc &like, const Program &program,
                       int32_t numHomes) {
  for (int32_t h = 0; h < numHomes; ++h)
    for (const BufferTraits &traits : bufferTable) {
      if (!traits.isState() || traits.owner != Owner::Stage ||
          traits.slotPer == SlotPer::Microbatch)
        continue;
      const PoolDesc *there = poolOf(like, h, traits.kind);
      const Place &here = program.place(h, traits.kind);
      if ((there == nullptr) != (here.pool < 0))
        return false;
      if (there && (program.pools[here.pool].rank != there->rank ||
                    program.pools[here.pool].offset != there->offset ||
                    program.pools[here.pool].slotBytes != there->slotBytes))
        return false;
    }
  for (int32_t r = 0; like.staging && r < like.numRanks; ++r)
    if (like.staging[r] >= 0 &&
        (program.staging[r] < 0 || program.pools[program.staging[r]].offset !=
                                       like.pools[like.staging[r]].offset))
      return false;
  return true;
}

static SearchResult searchOrder(const PlanFigures &plan, const Problem &problem,
                                const SearchOptions &options) {
  const RunSearch run = [](const Problem &of, const SearchOptions &how) {
    return search(of, how);
  };
  if (!mayBlock(problem) && !mayOverflow(plan, problem))
    return run(problem, options);
  Problem tightened = problem;
  return searchFitting({plan, problem, roughBound(problem), tightened, run,
                        /*mayGiveUp=*/[] { return true; }},
                       options);
}

static SearchOutcome find(const SearchRequest &request) {
  const Executable &exe = request.executable;
  const ProgramDesc &like = request.like;
  if (like.numRanks != exe.numRanks)
    return {std::nullopt, "some ranks hold no state"};
  PlanFigures plan = figuresOf(request);
  LoweredProgram lowered{rondo::ProgramKind::Pipeline, request.values.problem,
                         Schedule(), Program()};
  Problem &problem = lowered.executing;
  addMemory(request, plan, problem);
  auto none = [&](const Fault &fault) {
    return SearchOutcome{std::nullopt, describe(fault, problem)};
  };
  if (std::optional<Fault> fault = problem.check())
    return none(*fault);
  SearchOptions options;
  options.timeLimitMs = request.timeLimitMs;
  options.inIndexOrder = like.accumulatesInIndexOrder;
  options.interrupt = request.interrupt;
  SearchResult result = searchOrder(plan, problem, options);
  if (!result.schedule)
    return result.fault ? none(*result.fault)
                        : SearchOutcome{std::nullopt, "time ran out"};
  lowered.tasks = std::move(*result.schedule);
  if (std::optional<Fault> fault = checkSchedule(problem, lowered.tasks))
    return none(*fault);
  if (like.accumulatesInIndexOrder)
    if (auto fault = checkAccumulation(problem, lowered.tasks))
      return none(*fault);
  lowered.program =
      insertCommunication(problem, lowered.tasks,
                          simulate(problem, lowered.tasks, /*keepTimes=*/true),
                          plan.needsOf(rondo::ProgramKind::Pipeline));
  if (auto fault =
          planMemory(problem, problem.homes, problem.numRanks(), plan.buffers,
                     lowered.program, keptBytes(request, plan)))
    return none(*fault);
  if (std::optional<Fault> fault = checkLowered(lowered, plan))
    return none(*fault);
  if (!keepsState(like, lowered.program, exe.numHomes))
    return {std::nullopt, "its state would lie elsewhere"};
  const ProgramSimulation simulation =
      simulateProgram(problem, lowered.program);
  return {FoundSchedule{std::move(lowered.program), simulation.makespanNs}, ""};
}

const ScheduleSearch rondo::runtime::scheduleSearch = {find};
