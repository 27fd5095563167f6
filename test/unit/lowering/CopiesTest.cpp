//===- CopiesTest.cpp - Programs that copy activations to the host --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/Lowering.h"
#include "lowering/MemoryPlan.h"
#include "schedule/program/ReleasedBuffers.h"
#include "schedule/program/Slots.h"
#include "schedule/rules/Legality.h"
#include "schedule/rules/ProgramRules.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t slotBytes = 128;

/// 1F1B on two ranks; activations may leave, `slotBytes` each, half of which I
/// frees.
Problem copiedChain(int32_t microbatches) {
  Problem problem = linearProblem(2, microbatches, 10, 128, 1000);
  problem.hostMemory.links = {HostLink{10, 1000}, HostLink{20, 500}};
  for (int32_t s = 0; s < 2; ++s) {
    problem.setStageCost(s, 1000, 1100, 800, slotBytes, slotBytes / 2);
    problem.setCopies(s, {slotBytes, LoadBefore::InputGrad, {}, {}});
  }
  return problem;
}

std::vector<ReplicaBuffers> copiedBuffers(const Problem &problem) {
  std::vector<ReplicaBuffers> buffers = replicaBuffers(problem);
  for (ReplicaBuffers &own : buffers) {
    auto at = [&](BufferKind kind) -> int64_t & {
      return own[static_cast<int>(kind)];
    };
    at(BufferKind::SavedForInputGrad) = at(BufferKind::SavedForWeightGrad) = 0;
    at(BufferKind::OffloadedForInputGrad) = at(BufferKind::LoadedForInputGrad) =
        at(BufferKind::OffloadedForWeightGrad) =
            at(BufferKind::LoadedForWeightGrad) = slotBytes / 2;
    at(BufferKind::OnHost) = slotBytes;
  }
  return buffers;
}

/// Inserts the copies of some micro-batches at random places that keep S3.
Schedule withRandomCopies(const Schedule &base, std::mt19937 &random) {
  Schedule result;
  for (int32_t r = 0; r < base.numRanks(); ++r) {
    const ActionRange order = base.rank(r);
    std::vector<Action> list(order.begin(), order.end());
    for (Action action : order) {
      if (action.kind() != ActionKind::Forward || random() % 3 == 0)
        continue;
      const Action save(ActionKind::Save, action.subject, action.index),
          load(ActionKind::Load, action.subject, action.index);
      const auto f = std::find(list.begin(), list.end(), action) - list.begin();
      const auto b =
          std::find_if(list.begin(), list.end(),
                       [&](Action other) {
                         return other.index == action.index &&
                                other.subject == action.subject &&
                                (other.traits().makes & inputGradDone);
                       }) -
          list.begin();
      const auto s = f + 1 + static_cast<int64_t>(random() % (b - f));
      list.insert(list.begin() + s, save);
      list.insert(list.begin() + s + 1 +
                      static_cast<int64_t>(random() % (b + 1 - s)),
                  load);
    }
    for (Action action : list)
      result.append(action);
    result.endRank();
  }
  return result;
}

/// The actions that take and release a slot, in time.
struct Use {
  int64_t beginNs, endNs;
};

/// Whether no slot that copies read or write has two buffers at one time.
void expectDisjoint(const Program &program, const ProgramSimulation &run) {
  const Slots slots(program);
  std::map<int64_t, std::vector<Use>> uses;
  // [buffer and micro-batch]: when it was taken.
  std::map<std::pair<int32_t, int64_t>, int64_t> takenNs;
  std::map<std::pair<int64_t, int64_t>, bool> isAway;
  for (Action action : program.order.all())
    if (action.kind() == ActionKind::Save)
      isAway[{int64_t(action.subject), int64_t(action.index)}] = true;
  for (int64_t i = 0; i < program.order.numActions(); ++i) {
    const Action action = program.order.all()[i];
    if (action.traits().subject != Subject::Replica)
      continue;
    const bool away = isAway[{int64_t(action.subject), int64_t(action.index)}];
    auto bufferOf = [&](BufferKind kind) {
      return int32_t(action.subject) * numBufferKinds + int32_t(kind);
    };
    for (BufferKind kind : action.traits().takes)
      takenNs[{bufferOf(kind), int64_t(action.index)}] = run.startNs[i];
    for (BufferKind kind : action.traits().releases) {
      const bool isLast =
          kind == BufferKind::OnHost || (isLoaded(kind) && away) ||
          (isOffloaded(kind) && (!away || action.kind() == ActionKind::Save));
      const int64_t slot = slots.of(bufferOf(kind), action.index);
      const int64_t span = slots.span(bufferOf(kind), action.index);
      for (int64_t k = 0; isLast && slot >= 0 && k < span; ++k)
        uses[slot + k].push_back(
            {takenNs.at({bufferOf(kind), int64_t(action.index)}),
             run.endNs[i]});
    }
  }
  for (auto &[slot, all] : uses) {
    std::sort(all.begin(), all.end(), [](const Use &a, const Use &b) {
      return std::tie(a.beginNs, a.endNs) < std::tie(b.beginNs, b.endNs);
    });
    for (size_t i = 1; i < all.size(); ++i)
      ASSERT_LE(all[i - 1].endNs, all[i].beginNs) << "slot " << slot;
  }
  ASSERT_FALSE(uses.empty());
}

PlanFigures figuresOf(const Problem &problem) {
  PlanFigures figures;
  figures.buffers = copiedBuffers(problem);
  figures.devices.assign(problem.numRanks(), noMemoryCap);
  figures.collectives = {norm(problem)};
  figures.declaresWeights = true;
  return figures;
}

TEST(Copies, ProgramsKeepTheirRulesWhateverTheTimesAre) {
  std::mt19937 random(3);
  int programs = 0;
  for (int n = 0; n < 300; ++n) {
    Problem problem = copiedChain(6);
    for (int64_t &cap : problem.memoryCaps)
      cap = random() % 3 ? slotBytes * int64_t(2 + random() % 4) : noMemoryCap;
    if (random() % 2)
      problem.hostMemory.caps.assign(2, slotBytes * int64_t(1 + random() % 3));
    if (random() % 3 == 0)
      problem.hostMemory.links[0]->isHalf = true;
    if (random() % 3 == 0) {
      problem.hostMemory.shared = {SharedHostLink{400, random() % 2 == 0}};
      problem.hostMemory.sharedOf = {0, 0};
      for (int32_t s = 0; s < 2; ++s)
        problem.setCopies(s, {slotBytes, LoadBefore::InputGrad, {}, {}});
    }
    const Schedule schedule = withRandomCopies(
        familySchedule(n % 2 ? "1f1b" : "gpipe", problem), random);
    if (!schedule.hasCopies() || checkSchedule(problem, schedule))
      continue;
    ++programs;
    const PlanFigures figures = figuresOf(problem);
    ProvedPrograms proved = provePrograms(figures, problem, schedule);
    ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
    expectDisjoint(proved.pipeline, simulateProgram(problem, proved.pipeline));
    for (int32_t r = 0; r < 2; ++r)
      for (auto [kind, cap] :
           {std::pair(BufferKind::OffloadedForInputGrad, problem.memoryCaps[r]),
            {BufferKind::OnHost, problem.hostMemory.cap(r)}})
        if (const Place &place = proved.pipeline.place(r, kind);
            place.pool >= 0) {
          const Pool &pool = proved.pipeline.pools[place.pool];
          ASSERT_LE(pool.slots * pool.slotBytes, cap);
        }
    // With other times, too.
    for (int times = 0; times < 3; ++times) {
      for (int32_t s = 0; s < 2; ++s)
        for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                                ActionKind::WeightGrad, ActionKind::Backward,
                                ActionKind::Save, ActionKind::Load})
          problem.cost(s, kind).ns = int64_t(random() % 2000);
      const ProgramSimulation run = simulateProgram(problem, proved.pipeline);
      ASSERT_TRUE(run.complete);
      expectDisjoint(proved.pipeline, run);
    }
  }
  EXPECT_GT(programs, 100);
}

/// The most bytes that buffers which copies read or write hold at once on the
/// device of a rank, in the order of its list.
int64_t copiedPeak(const Problem &problem, const PlanFigures &figures,
                   const Program &program, int32_t rank) {
  std::map<int64_t, bool> isAway;
  for (Action action : program.order.rank(rank))
    if (action.kind() == ActionKind::Save)
      isAway[int64_t(action.index)] = true;
  int64_t now = 0, peak = 0;
  for (Action action : program.order.rank(rank)) {
    if (action.traits().subject != Subject::Replica)
      continue;
    const bool away = isAway[int64_t(action.index)];
    const ReplicaBuffers &own =
        figures.buffersByMicrobatch[action.index][action.subject];
    for (BufferKind kind : action.traits().takes)
      if (isOffloaded(kind) || isLoaded(kind))
        peak = std::max(peak, now += own[int(kind)]);
    forEachReleased(problem, action, [&](BufferKind kind) {
      if ((isLoaded(kind) && away) ||
          (isOffloaded(kind) && (!away || action.kind() == ActionKind::Save)))
        now -= own[int(kind)];
    });
  }
  return peak;
}

TEST(Copies, BuffersOfMicrobatchesThatDifferHavePlacesOfTheirSize) {
  constexpr int32_t count = 6;
  std::mt19937 random(5);
  int programs = 0;
  int64_t placed = 0, counted = 0;
  for (int n = 0; n < 200; ++n) {
    Problem problem = copiedChain(count);
    // [micro-batch]: its bytes, of which half are for I.
    std::vector<int64_t> bytes(count);
    for (int64_t &own : bytes)
      own = slotBytes * int64_t(1 + random() % 6);
    const int64_t largest = *std::max_element(bytes.begin(), bytes.end());
    std::vector<Cost> costs;
    for (int64_t row = 0; row < int64_t(problem.costs.size()); ++row)
      for (int64_t i = 0; i < count; ++i) {
        Cost cost = problem.costs[row];
        for (int64_t *figure :
             {&cost.ns, &cost.acquireBytes, &cost.releaseBytes})
          *figure = *figure * bytes[i] / slotBytes;
        costs.push_back(cost);
      }
    problem.setUneven(costs, {});
    for (int64_t &cap : problem.memoryCaps)
      cap = random() % 3 ? largest * int64_t(2 + random() % 4) : noMemoryCap;
    const Schedule schedule = withRandomCopies(
        familySchedule(n % 2 ? "1f1b" : "gpipe", problem), random);
    if (!schedule.hasCopies() || checkSchedule(problem, schedule))
      continue;
    ++programs;
    PlanFigures figures = figuresOf(problem);
    for (int64_t i = 0; i < count; ++i) {
      auto &own = figures.buffersByMicrobatch.emplace_back(figures.buffers);
      for (ReplicaBuffers &replica : own)
        for (const BufferTraits &traits : bufferTable)
          if (isOffloaded(traits.kind) || isLoaded(traits.kind) ||
              traits.kind == BufferKind::OnHost)
            replica[int(traits.kind)] *= bytes[i] / slotBytes;
    }
    for (auto &own : figures.buffersByMicrobatch)
      for (size_t h = 0; h < own.size(); ++h)
        for (int k = 0; k < numBufferKinds; ++k)
          figures.buffers[h][k] = std::max(figures.buffers[h][k], own[h][k]);
    ProvedPrograms proved = provePrograms(figures, problem, schedule);
    ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
    const ProgramSimulation planned = simulateProgram(problem, proved.pipeline);
    expectDisjoint(proved.pipeline, planned);
    // Waits for places lose no time.
    Program free = proved.pipeline;
    free.places.clear();
    EXPECT_EQ(planned.makespanNs, simulateProgram(problem, free).makespanNs);
    for (int32_t r = 0; r < 2; ++r) {
      const Place &place =
          proved.pipeline.place(r, BufferKind::OffloadedForInputGrad);
      ASSERT_GE(place.pool, 0);
      ASSERT_EQ(place.spans.size(), size_t(count));
      const Pool &pool = proved.pipeline.pools[place.pool];
      const int64_t peak = copiedPeak(problem, figures, proved.pipeline, r);
      placed += pool.slots * pool.slotBytes;
      counted += peak;
      ASSERT_GE(pool.slots * pool.slotBytes, peak);
    }
    for (int times = 0; times < 3; ++times) {
      for (Cost &cost : problem.unevenCosts)
        cost.ns = int64_t(random() % 2000);
      const ProgramSimulation run = simulateProgram(problem, proved.pipeline);
      ASSERT_TRUE(run.complete);
      expectDisjoint(proved.pipeline, run);
    }
  }
  EXPECT_GT(programs, 50);
  // First fit decreasing wastes little, although lanes wait for each other.
  EXPECT_LE(placed, counted * 3 / 2);
}

/// All Fs with their SAVEs, then for each micro-batch the tasks and LOADs of
/// `tail`, on both ranks.
Schedule leaveAll(const Problem &problem, const std::vector<ActionKind> &tail) {
  Schedule schedule;
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    for (int64_t i = 0; i < problem.microbatches; ++i)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::Save})
        schedule.append(Action(kind, r, i));
    for (int64_t i = 0; i < problem.microbatches; ++i)
      for (ActionKind kind : tail)
        schedule.append(Action(kind, r, i));
    schedule.endRank();
  }
  return schedule;
}

TEST(Copies, WhatWReadsAloneComesBackAfterI) {
  Problem problem = copiedChain(4);
  for (int32_t s = 0; s < 2; ++s)
    problem.setCopies(s, {slotBytes / 2, LoadBefore::WeightGrad, {}, {}});
  PlanFigures figures = figuresOf(problem);
  for (ReplicaBuffers &own : figures.buffers) {
    own[int(BufferKind::SavedForInputGrad)] = slotBytes / 2;
    own[int(BufferKind::OffloadedForInputGrad)] =
        own[int(BufferKind::LoadedForInputGrad)] = 0;
    own[int(BufferKind::OnHost)] = slotBytes / 2;
  }
  const Schedule schedule =
      leaveAll(problem, {ActionKind::InputGrad, ActionKind::Load,
                         ActionKind::WeightGrad});
  ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
  ProvedPrograms proved = provePrograms(figures, problem, schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
  expectDisjoint(proved.pipeline, simulateProgram(problem, proved.pipeline));
}

TEST(Copies, CheckpointsComeBackForR) {
  Problem problem = copiedChain(4);
  for (int32_t s = 0; s < 2; ++s) {
    problem.setRecomputation(s, Recomputation::FromCheckpoint, 900, slotBytes,
                             slotBytes);
    problem.setCopies(s, {slotBytes, LoadBefore::Recompute, {}, {}});
  }
  // A checkpoint that has come back, one on its way, and what R restores.
  problem.memoryCaps.assign(2, 3 * slotBytes);
  PlanFigures figures = figuresOf(problem);
  for (ReplicaBuffers &own : figures.buffers) {
    own[int(BufferKind::RecomputedForInputGrad)] =
        own[int(BufferKind::RecomputedForWeightGrad)] = slotBytes / 2;
    own[int(BufferKind::OffloadedForInputGrad)] =
        own[int(BufferKind::LoadedForInputGrad)] = slotBytes;
    own[int(BufferKind::OffloadedForWeightGrad)] =
        own[int(BufferKind::LoadedForWeightGrad)] = 0;
  }
  const Schedule schedule = leaveAll(
      problem, {ActionKind::Load, ActionKind::Recompute, ActionKind::Backward});
  ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
  ProvedPrograms proved = provePrograms(figures, problem, schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
  const Place &loaded =
      proved.pipeline.place(0, BufferKind::LoadedForInputGrad);
  EXPECT_LE(proved.pipeline.pools[loaded.pool].slots, 3);
}

TEST(Copies, ProgramsHaveTheCopyOrdersOfTheirSchedules) {
  Problem problem = copiedChain(2);
  problem.hostMemory.shared = {SharedHostLink{400, false}};
  problem.hostMemory.sharedOf = {0, 0};
  for (int32_t s = 0; s < 2; ++s)
    problem.setCopies(s, {slotBytes, LoadBefore::InputGrad, {}, {}});
  Schedule schedule =
      leaveAll(problem, {ActionKind::Load, ActionKind::Backward});
  for (ActionKind kind : {ActionKind::Save, ActionKind::Load})
    for (int64_t i = 0; i < 2; ++i)
      for (int32_t s : {1, 0})
        schedule.copyOrders[0].push_back(Action(kind, s, i));
  ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
  const PlanFigures figures = figuresOf(problem);
  ProvedPrograms proved = provePrograms(figures, problem, schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
  EXPECT_EQ(proved.pipeline.order.copyOrders, schedule.copyOrders);
  // The first copy is the other rank's, which rank 0 waits for.
  const ProgramSimulation run = simulateProgram(problem, proved.pipeline);
  ASSERT_TRUE(run.complete);
  auto startOf = [&](Action action) {
    const auto &all = proved.pipeline.order.all();
    return run.startNs[std::find(all.begin(), all.end(), action) - all.begin()];
  };
  EXPECT_GT(startOf(Action(ActionKind::Save, 0, 0)),
            startOf(Action(ActionKind::Save, 1, 0)));
  // L5 finds another order.
  Program other = proved.pipeline;
  std::swap(other.order.copyOrders[0][0], other.order.copyOrders[0][1]);
  const auto fault = checkTasks(problem, schedule, other);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::CopyOrdersDiffer);
}

TEST(Copies, ProgramsTakeAsLongAsTheirSchedules) {
  // One rank has no messages, so both simulations agree.
  std::mt19937 random(4);
  int programs = 0;
  for (int n = 0; n < 500; ++n) {
    Problem problem = linearProblem(1, 6, 0, 128, 0);
    problem.setStageCost(0, 1000, 1100, 800, slotBytes, slotBytes / 2);
    problem.memoryCaps = {slotBytes * int64_t(3 + random() % 3)};
    problem.hostMemory.links = {HostLink{int64_t(random() % 900), 1}};
    problem.setCopies(0, {slotBytes, LoadBefore::InputGrad, {}, {}});
    Schedule gpipe;
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
      for (int64_t i = 0; i < 6; ++i)
        gpipe.append(Action(kind, 0, i));
    gpipe.endRank();
    const Schedule schedule = withRandomCopies(gpipe, random);
    if (!schedule.hasCopies() || checkSchedule(problem, schedule))
      continue;
    ++programs;
    const Simulation run = simulate(problem, schedule);
    PlanFigures figures = figuresOf(problem);
    figures.collectives.clear();
    ProvedPrograms proved = provePrograms(figures, problem, schedule);
    ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
    EXPECT_EQ(proved.iterationNs, run.makespanNs);
    // The slots of all activations together keep the cap.
    const Place &saved =
        proved.pipeline.place(0, BufferKind::OffloadedForInputGrad);
    const Pool &pool = proved.pipeline.pools[saved.pool];
    EXPECT_LE(pool.slots * pool.slotBytes, problem.memoryCaps[0]);
  }
  EXPECT_GT(programs, 20);
}

TEST(Copies, FewerSlotsThanTheOrderWithoutCopies) {
  Problem problem = linearProblem(4, 8, 10, 128, 1000);
  problem.hostMemory.links.assign(4, HostLink{0, 1000});
  for (int32_t s = 0; s < 4; ++s) {
    problem.setStageCost(s, 1000, 1100, 800, slotBytes, slotBytes / 2);
    problem.setCopies(s, {slotBytes, LoadBefore::InputGrad, {}, {}});
  }
  problem.memoryCaps.assign(4, 2 * slotBytes);
  Schedule schedule;
  auto add = [&](ActionKind kind, int32_t stage, int64_t i) {
    schedule.append(Action(kind, stage, i));
  };
  for (int32_t r = 0; r < 4; ++r) {
    const int64_t ahead = 3 - r;
    // Each micro-batch leaves at once and comes back for its backward.
    for (int64_t i = 0; i < 8 + ahead; ++i) {
      if (i < 8) {
        add(ActionKind::Forward, r, i);
        if (ahead > 0)
          add(ActionKind::Save, r, i);
      }
      if (i < ahead)
        continue;
      if (ahead > 0)
        add(ActionKind::Load, r, i - ahead);
      add(ActionKind::Backward, r, i - ahead);
    }
    schedule.endRank();
  }
  ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
  const PlanFigures figures = figuresOf(problem);
  ProvedPrograms proved = provePrograms(figures, problem, schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, problem);
  const Place &saved =
      proved.pipeline.place(0, BufferKind::OffloadedForInputGrad);
  EXPECT_EQ(proved.pipeline.pools[saved.pool].slots, 4); // two halves each
  Problem without = problem.withoutCopies();
  without.memoryCaps.assign(4, noMemoryCap);
  PlanFigures plain = figures;
  ProvedPrograms base =
      provePrograms(plain, without, familySchedule("1f1b", without));
  ASSERT_FALSE(base.fault);
  const Place &kept = base.pipeline.place(0, BufferKind::OffloadedForInputGrad);
  EXPECT_EQ(base.pipeline.pools[kept.pool].slots, 8);
}

} // namespace
