//===- GraphTest.cpp - Lowering of stages that form a graph ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of programs judge what lowering makes of random graphs, and detect
// changes to it.
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "schedule/model/BufferNumbers.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Simulator.h"

#include <gtest/gtest.h>

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

class Graphs {
public:
  explicit Graphs(uint32_t seed) : random(seed) {}

  int64_t upTo(int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  }

  /// Each stage takes inputs from up to three stages before it; ranks are
  /// random.
  Problem problem() {
    Problem problem =
        linearProblem(2 + upTo(4), 1 + upTo(5), upTo(400), 128, upTo(1) * 500);
    const int32_t stages = problem.numStages();
    const int32_t ranks = 1 + upTo(stages - 1);
    problem.memoryCaps.assign(ranks, noMemoryCap);
    for (int32_t replica = 0; replica < problem.replicas.size(); ++replica)
      problem.replicas.moveTo(replica, int32_t(upTo(ranks - 1)));
    std::vector<std::vector<int32_t>> inputs(stages);
    for (int32_t s = 1; s < stages; ++s)
      for (int32_t from = s - 1; from >= 0 && inputs[s].size() < 3; --from)
        if (upTo(2) > 0)
          inputs[s].push_back(from);
    problem.makeGraph(inputs, std::vector<int64_t>(stages, 128));
    problem.channels.protocol =
        upTo(1) ? Protocol::Eager : Protocol::Rendezvous;
    return problem;
  }

  /// Runs whatever is ready, at random, over all ranks: never a wait cycle.
  Schedule schedule(const Problem &problem) {
    const int32_t stages = problem.numStages(), m = problem.microbatches;
    std::vector<std::vector<Action>> orders(problem.numRanks());
    std::vector<int> forward(stages), inputGrad(stages), weightGrad(stages);
    for (int64_t left = int64_t(3) * stages * m; left > 0;) {
      const int32_t s = int32_t(upTo(stages - 1));
      const int64_t kind = upTo(2);
      int before = m;
      for (const Edge &edge : problem.edges)
        if (edge.to == s &&
            edge.producer ==
                (kind == 0 ? ActionKind::Forward : ActionKind::InputGrad))
          before =
              std::min(before, (kind == 0 ? forward : inputGrad)[edge.from]);
      std::vector<Action> &order = orders[problem.rankOf(s)];
      if (kind == 0 && forward[s] < before)
        order.push_back(Action(ActionKind::Forward, s, forward[s]++));
      else if (kind == 1 && inputGrad[s] < std::min(before, forward[s]))
        order.push_back(Action(ActionKind::InputGrad, s, inputGrad[s]++));
      else if (kind == 2 && weightGrad[s] < inputGrad[s])
        order.push_back(Action(ActionKind::WeightGrad, s, weightGrad[s]++));
      else
        continue;
      --left;
    }
    return Schedule(orders);
  }

private:
  std::mt19937 random;
};

/// The program without the action at a position.
Program without(const Program &program, int64_t position) {
  Program changed = program;
  changed.order = Schedule();
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    for (int64_t i = 0; i < program.order.rank(r).size(); ++i)
      if (program.order.rankBegin(r) + i != position)
        changed.order.append(program.order.rank(r)[i]);
    changed.order.endRank();
  }
  return changed;
}

TEST(Graph, ProgramsOfRandomGraphsKeepAllRules) {
  Graphs graphs(11);
  int forks = 0, joins = 0;
  for (int round = 0; round < 300; ++round) {
    const Problem problem = graphs.problem();
    ASSERT_EQ(problem.check(), std::nullopt);
    const Schedule schedule = graphs.schedule(problem);
    ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
    const Program program = lower(problem, schedule);
    ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "")
        << "round " << round;
    const int64_t free = simulate(problem, schedule).makespanNs;
    const ProgramSimulation run = simulateProgram(problem, program);
    ASSERT_TRUE(run.complete);
    EXPECT_GE(run.makespanNs, free);
    EXPECT_LE(run.makespanNs, free + free / 100) << "round " << round;
    const EdgeTable edges(problem);
    for (int32_t s = 0; s < problem.numStages(); ++s) {
      const EdgeRange in = edges.inputs(s, ActionKind::Forward),
                      out = edges.outputs(s, ActionKind::Forward);
      joins += in.end() - in.begin() > 1;
      forks += out.end() - out.begin() > 1;
    }
  }
  EXPECT_GT(forks, 100);
  EXPECT_GT(joins, 100);
}

TEST(Graph, ProgramsOfOneRankKeepAllRules) {
  Graphs graphs(12);
  for (int round = 0; round < 100; ++round) {
    const Problem problem = graphs.problem();
    Problem one = problem;
    one.memoryCaps.assign(1, noMemoryCap);
    for (int32_t replica = 0; replica < one.replicas.size(); ++replica)
      one.replicas.moveTo(replica, 0);
    Schedule inTurn;
    for (int32_t i = 0; i < one.microbatches; ++i) {
      for (int32_t s = 0; s < one.numStages(); ++s)
        inTurn.append(Action(ActionKind::Forward, s, i));
      for (int32_t s = one.numStages(); s-- > 0;)
        inTurn.append(Action(ActionKind::Backward, s, i));
    }
    inTurn.endRank();
    ASSERT_EQ(checkSchedule(one, inTurn), std::nullopt);
    ASSERT_EQ(broken(one, inTurn, lower(one, inTurn), one.memoryCaps), "");
  }
}

TEST(Graph, ChangesAreFound) {
  Graphs graphs(13);
  int dropped = 0, shared = 0, freed = 0;
  for (int round = 0; round < 200; ++round) {
    const Problem problem = graphs.problem();
    const Schedule schedule = graphs.schedule(problem);
    const Program program = lower(problem, schedule);
    const BufferNumbers buffers(problem);

    // A message that is missing on one end.
    for (int64_t k = 0; k < program.order.numActions(); ++k) {
      const ActionKind kind = program.order.rank(0).begin()[k].kind();
      if (kind != ActionKind::Recv && kind != ActionKind::Send)
        continue;
      if (graphs.upTo(9) > 0)
        continue;
      EXPECT_NE(
          broken(problem, schedule, without(program, k), problem.memoryCaps)
              .find("[L1]"),
          std::string::npos);
      ++dropped;
    }

    for (int32_t e = 0; e < int32_t(problem.edges.size()); ++e) {
      // Two inputs of one task in one slot.
      const int32_t mine = buffers.received(e);
      for (int32_t other = e + 1; other < int32_t(problem.edges.size());
           ++other) {
        const int32_t theirs = buffers.received(other);
        if (problem.edges[e].to != problem.edges[other].to ||
            problem.edges[e].producer != problem.edges[other].producer ||
            program.places[mine].pool < 0)
          continue;
        Program changed = program;
        changed.places[theirs] = changed.places[mine];
        EXPECT_NE(broken(problem, schedule, changed, problem.memoryCaps), "")
            << "round " << round << ", edges " << e << " and " << other;
        ++shared;
      }
      // A stage's output in a slot that may still hold another micro-batch's.
      const int32_t output = buffers.sent(e);
      if (program.places[output].slotOf.size() > 1) {
        Program changed = program;
        changed.places[output].slotOf = {program.places[output].slotOf[0]};
        freed += broken(problem, schedule, changed, problem.memoryCaps) != "";
      }
    }
  }
  EXPECT_GT(dropped, 100);
  EXPECT_GT(shared, 100);
  EXPECT_GT(freed, 100);
}

} // namespace
