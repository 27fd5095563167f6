//===- RestrictionTest.cpp - Windows without their last iterations --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of any length drains by leaving out the tasks of the iterations that it
// does not have. That this keeps the rules and the versions follows from each
// rank's order alone, except for versions that are settled by times.
//
//===----------------------------------------------------------------------===//

#include "RandomProblem.h"
#include "WindowExamples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

Problem drawWindow(Engine &random) {
  const auto stages = int32_t(pick(random, 1, 5)),
             each = int32_t(pick(random, 1, 4)),
             iterations = int32_t(pick(random, 2, 7));
  Problem problem = linearProblem(stages, each * iterations);
  problem.iterations = iterations;
  std::vector<int64_t> outputBytes;
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t activation = pick(random, 0, 6);
    problem.setStageCost(s, pick(random, 0, 9), pick(random, 0, 9),
                         pick(random, 0, 9), activation,
                         pick(random, 0, activation));
    problem.cost(s, ActionKind::Step).ns = pick(random, 0, 9);
    outputBytes.push_back(pick(random, 0, 5));
  }
  problem.makeChain(outputBytes);
  problem.link = {pick(random, 0, 6), pick(random, 0, 3) * 700};
  EXPECT_FALSE(problem.check());
  return problem;
}

VersionPolicy drawPolicy(Engine &random) {
  VersionPolicy policy;
  policy.forward =
      static_cast<ForwardWeights>(pick(random, 0, numForwardWeights - 1));
  policy.backward =
      static_cast<BackwardWeights>(pick(random, 0, numBackwardWeights - 1));
  return policy;
}

int64_t iterationOf(const Problem &window, Action action) {
  return action.kind() == ActionKind::Step
             ? int64_t(action.index)
             : int64_t(action.index) / window.microbatchesEach();
}

/// Without the tasks, steps and messages of iterations from n on.
Schedule restricted(const Problem &window, const Schedule &schedule,
                    int32_t n) {
  Schedule shorter;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      if (iterationOf(window, action) < n)
        shorter.append(action);
    shorter.endRank();
  }
  for (const auto &[link, messages] : schedule.linkOrders)
    for (Action action : messages)
      if (iterationOf(window, action) < n)
        shorter.linkOrders[link].push_back(action);
  return shorter;
}

/// The order in which the messages of each link are made.
void stateLinkOrders(const Problem &window, Schedule &schedule) {
  const int32_t stages = window.numStages();
  for (int32_t s = 0; s < stages; ++s)
    for (Action action : schedule.rank(s)) {
      const bool isForward = action.kind() == ActionKind::Forward;
      const int32_t to = isForward ? s + 1 : s - 1;
      if (action.isTask() && to >= 0 && to < stages)
        schedule.linkOrders[{s, to}].push_back(action);
    }
}

/// Whether the tasks of the shorter window read what they do in the longer one.
bool readTheSame(const VersionAnalysis &longer,
                 const VersionAnalysis &shorter) {
  for (size_t h = 0; h < shorter.replicas.size(); ++h)
    for (size_t m = 0; m < shorter.replicas[h].forward.size(); ++m)
      if (shorter.replicas[h].forward[m] != longer.replicas[h].forward[m] ||
          shorter.replicas[h].backward[m] != longer.replicas[h].backward[m])
        return false;
  return true;
}

TEST(Restriction, KeepsRulesAndVersions) {
  Engine random(5);
  int numWindows = 0, numOfOrder = 0, numOfTimes = 0, numChanged = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Problem window = drawWindow(random);
    const char *families[] = {"pipedream", "2bw", "pipemare",
                              "pipemare:spatial=1", "timeprest"};
    const auto choice = *parseFamily(families[trial % 5]);
    // Half of them with the family's own policy, the others by stage.
    if (pick(random, 0, 1))
      for (int32_t s = 0; s < window.numStages(); ++s)
        window.versions.push_back(drawPolicy(random));
    window = withPolicyOf(choice, window);
    FamilyResult schedule = generate(choice, window);
    if (!schedule)
      continue;
    if (pick(random, 0, 1))
      stateLinkOrders(window, *schedule);
    Simulation run;
    const auto illegal = checkAndSimulate(window, *schedule, run, true);
    if (illegal) {
      // Policies by stage may ask for what a stage has not made yet.
      EXPECT_EQ(illegal->kind, FaultKind::VersionNotMade)
          << describe(*illegal, window);
      continue;
    }
    ++numWindows;
    const auto whole = *analyzeVersions(window, *schedule, run);
    // No more room and no later tasks than the whole window needs.
    window.memoryCaps = run.peakBytes;
    bool readsByTimes = false;
    for (int32_t s = 0; s < window.numStages(); ++s) {
      VersionPolicy &policy = window.versions[s];
      readsByTimes |= policy.backward == BackwardWeights::Committed;
      policy.maxDelay = std::max(whole.replicas[s].forwardDelay.most,
                                 whole.replicas[s].backwardDelay.most);
    }
    for (int32_t n = 1; n < window.iterations; ++n) {
      Problem shorter = window;
      shorter.microbatches = n * window.microbatchesEach();
      shorter.iterations = n;
      if (readsByTimes)
        for (VersionPolicy &policy : shorter.versions)
          policy.maxDelay = anyDelay;
      const Schedule order = restricted(window, *schedule, n);
      Simulation now;
      const auto fault = checkAndSimulate(shorter, order, now, true);
      ASSERT_FALSE(fault) << trial << " " << choice.text() << " " << n << ": "
                          << describe(*fault, shorter);
      const auto versions = *analyzeVersions(shorter, order, now);
      const bool isSame = readTheSame(whole, versions);
      if (!readsByTimes) {
        ++numOfOrder;
        ASSERT_TRUE(isSame) << trial << " " << choice.text() << " " << n;
        continue;
      }
      ++numOfTimes;
      numChanged += !isSame;
    }
  }
  EXPECT_GT(numWindows, 200);
  EXPECT_GT(numOfOrder, 300);
  EXPECT_GT(numOfTimes, 200);
  // With fewer messages and tasks a step may end, or a backward begin, earlier,
  // and another version be the newest that all stages have. That is rare.
  RecordProperty("committed_windows", numOfTimes);
  RecordProperty("committed_changed", numChanged);
  EXPECT_LT(numChanged, numOfTimes / 20);
}

} // namespace
