//===- Fixture.cpp - Problems and programs for tests of lowering ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Rules.h"

#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace rondo;

Problem rondo::test::linearProblem(int32_t ranks, int32_t microbatches,
                                   int64_t latencyNs, int64_t outputBytes,
                                   int64_t bytesPerUs) {
  Problem problem;
  problem.name = "linear";
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t s = 0; s < ranks; ++s)
    problem.replicas.addStage(s);
  problem.costs.resize(ranks * numCostColumns);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setStageCost(s, 1000, 1100, 800, 100, 0);
  problem.makeChain(std::vector<int64_t>(ranks, outputBytes));
  problem.link = {latencyNs, bytesPerUs};
  return problem;
}

void rondo::test::layInChunks(Problem &problem, int32_t ranks, bool isWave) {
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int32_t chunk = s / ranks, i = s % ranks;
    const bool isUp = isWave && chunk % 2 == 1;
    problem.replicas.moveTo(s, isUp ? ranks - 1 - i : i);
  }
}

std::vector<ReplicaBuffers>
rondo::test::replicaBuffers(const Problem &problem) {
  std::vector<ReplicaBuffers> buffers;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    bool isFirst = s == 0, isLast = s + 1 == problem.numStages();
    ReplicaBuffers b{};
    auto set = [&](BufferKind kind, int64_t bytes) {
      b[static_cast<int>(kind)] = bytes;
    };
    set(BufferKind::Weights, 512);
    set(BufferKind::Gradients, 512);
    set(BufferKind::Moments, 1024);
    set(BufferKind::Control, 64);
    set(BufferKind::Data, isFirst || isLast ? 64 : 0);
    set(BufferKind::Workspace, 256);
    set(BufferKind::Input, isFirst ? 0 : 128);
    set(BufferKind::InputGrad, isFirst ? 0 : 128);
    set(BufferKind::Output, isLast ? 0 : 128);
    set(BufferKind::OutputGrad, isLast ? 0 : 128);
    set(BufferKind::SavedForInputGrad, 192);
    set(BufferKind::SavedForWeightGrad, 640 + 64 * (s % 2));
    buffers.push_back(b);
  }
  return buffers;
}

Schedule rondo::test::familySchedule(const std::string &name,
                                     const Problem &problem) {
  auto choice = parseFamily(name);
  EXPECT_TRUE(choice) << name;
  FamilyResult result = generate(*choice, problem);
  EXPECT_TRUE(result) << name;
  return *std::move(result);
}

Schedule rondo::test::randomOrders(const Problem &problem, std::mt19937 &random,
                                   bool hasSteps) {
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  const int32_t stages = problem.numStages(), m = problem.microbatches;
  std::vector<std::vector<Action>> orders(problem.numRanks());
  std::vector<int> forward(stages, 0), inputGrad(stages, 0),
      weightGrad(stages, 0), step(stages, 0);
  for (int64_t left = (int64_t(3) * m + (hasSteps ? 1 : 0)) * stages;
       left > 0;) {
    const int32_t s = upTo(stages - 1);
    const int64_t kind = upTo(hasSteps ? 3 : 2);
    std::vector<Action> &order = orders[problem.rankOf(s)];
    if (kind == 0 && forward[s] < (s == 0 ? m : forward[s - 1]))
      order.push_back(Action(ActionKind::Forward, s, forward[s]++));
    else if (kind == 1 && inputGrad[s] < forward[s] &&
             (s + 1 == stages || inputGrad[s] < inputGrad[s + 1]))
      order.push_back(Action(ActionKind::InputGrad, s, inputGrad[s]++));
    else if (kind == 2 && weightGrad[s] < inputGrad[s])
      order.push_back(Action(ActionKind::WeightGrad, s, weightGrad[s]++));
    else if (kind == 3 && weightGrad[s] == m && step[s] == 0)
      order.push_back(Action(ActionKind::Step, s, step[s]++));
    else
      continue;
    --left;
  }
  return Schedule(orders);
}

Collective rondo::test::norm(const Problem &problem) {
  Collective collective;
  collective.replicas.resize(problem.numStages());
  std::iota(collective.replicas.begin(), collective.replicas.end(), 0);
  return collective;
}

std::string rondo::test::broken(const Problem &problem,
                                const Schedule &schedule,
                                const Program &program,
                                const std::vector<int64_t> &caps) {
  // Else L3 and L4 would judge nothing.
  EXPECT_FALSE(program.arenaBytes.empty());
  const auto found =
      checkProgram(problem, program, {&schedule, {}, caps, {}, nullptr});
  return found ? describe(*found, problem) : "";
}

Program rondo::test::lower(const Problem &problem, const Schedule &schedule) {
  return lower(problem, schedule, {{norm(problem)}, true});
}

Program rondo::test::lower(const Problem &problem, const Schedule &schedule,
                           const TrainingNeeds &needs) {
  Simulation simulation = simulate(problem, schedule, true);
  EXPECT_TRUE(simulation.complete);
  Program program = insertCommunication(problem, schedule, simulation, needs);
  EXPECT_EQ(planMemory({problem, problem.replicas, problem.numRanks(),
                        replicaBuffers(problem)},
                       program),
            std::nullopt);
  return program;
}
