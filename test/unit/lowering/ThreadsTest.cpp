//===- ThreadsTest.cpp - Programs do not depend on threads ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Lowering.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Two threads at each call, also within each other's work.
void onTwoThreads(size_t count, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  auto take = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::thread other(take);
  take();
  other.join();
}

PlanFigures figuresOf(const Problem &problem) {
  PlanFigures plan;
  plan.buffers = replicaBuffers(problem);
  plan.collectives = {norm(problem)};
  plan.devices = problem.memoryCaps;
  plan.declaresWeights = true;
  return plan;
}

std::vector<LoweredSchedule> lowered(const Problem &problem,
                                     const Schedule &schedule,
                                     const ForEach &forEach) {
  const PlanFigures plan = figuresOf(problem);
  auto programs = lowerSchedule(plan, problem, schedule, forEach);
  std::vector<LoweredSchedule> result(1);
  result.front() = {plan, problem, std::move(*programs)};
  EXPECT_FALSE(planMemory(result, forEach));
  return result;
}

bool areEqual(const Program &a, const Program &b) {
  auto isSamePool = [](const Pool &x, const Pool &y) {
    return x.rank == y.rank && x.offset == y.offset &&
           x.slotBytes == y.slotBytes && x.slots == y.slots;
  };
  auto isSamePlace = [](const Place &x, const Place &y) {
    return x.pool == y.pool && x.slotOf == y.slotOf;
  };
  const ActionRange mine = a.order.all(), others = b.order.all();
  return std::equal(mine.begin(), mine.end(), others.begin(), others.end()) &&
         std::equal(a.pools.begin(), a.pools.end(), b.pools.begin(),
                    b.pools.end(), isSamePool) &&
         std::equal(a.places.begin(), a.places.end(), b.places.begin(),
                    b.places.end(), isSamePlace) &&
         a.arenaBytes == b.arenaBytes;
}

TEST(Threads, DoNotChangeProgramsOrFaults) {
  for (const char *family : {"1f1b", "kfkb:k=2", "zb-h1"}) {
    const Problem problem = linearProblem(6, 17, 900, 128, 700);
    const Schedule schedule = familySchedule(family, problem);
    const auto inOrder = lowered(problem, schedule, inTurn),
               atOnce = lowered(problem, schedule, onTwoThreads);
    for (size_t p = 0; p < inOrder.front().programs.size(); ++p) {
      const LoweredProgram &one = inOrder.front().programs[p],
                           &other = atOnce.front().programs[p];
      EXPECT_EQ(one.kind, other.kind);
      EXPECT_TRUE(areEqual(one.program, other.program)) << family << " " << p;
      EXPECT_FALSE(checkLowered(other, atOnce.front().plan, onTwoThreads));
    }
    // Reports the first of several faults in their order: a task that the
    // schedule does not have, before an arena that is too large.
    LoweredProgram wrong = inOrder.front().programs.back();
    wrong.tasks = familySchedule("gpipe", problem);
    PlanFigures small = inOrder.front().plan;
    small.devices.assign(small.devices.size(), 1);
    for (const ForEach &forEach : {ForEach(inTurn), ForEach(onTwoThreads)}) {
      auto fault = checkLowered(wrong, small, forEach);
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->kind, FaultKind::NotAsScheduled);
      fault = checkLowered(inOrder.front().programs.back(), small, forEach);
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->kind, FaultKind::ArenaOverCap);
    }
  }
}

// Names come first: with one that is not there, rules would read past arrays.
TEST(CheckLowered, NamesComeFirst) {
  const Problem problem = linearProblem(4, 6, 900, 128, 700);
  const auto sound = lowered(problem, familySchedule("1f1b", problem), inTurn);
  LoweredProgram wrong = sound.front().programs.back();
  const Schedule order = wrong.program.order;
  for (int64_t at = 0; at < order.numActions(); at += 7) {
    Schedule &changed = wrong.program.order = Schedule();
    for (int32_t rank = 0; rank < order.numRanks(); ++rank) {
      for (int64_t i = 0; i < order.rank(rank).size(); ++i) {
        Action action = order.rank(rank)[i];
        if (order.rankBegin(rank) + i == at)
          action.subject = 1000000;
        changed.append(action);
      }
      changed.endRank();
    }
    const auto fault = checkLowered(wrong, sound.front().plan, inTurn);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::NamesNothing);
    EXPECT_EQ(fault->rule, Rule::Tasks);
  }
}

} // namespace
