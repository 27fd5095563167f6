//===- ScalarRunTest.cpp - Training two numbers by a schedule -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = w2 (w1 x), x = 1, loss (y - 2)^2 / 2, each weight a stage. The family's
// order says what runs after what, and the analysis which version each task
// reads; the backward of an extrapolating stage reads
//   w - (delay of its forward - that of its backward) delta,
//   delta = gamma delta + (1 - gamma) (change of w), gamma = D^(1 / delay).
//
//===----------------------------------------------------------------------===//

#include "WindowExamples.h"

#include <cmath>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Key: stage and version.
struct Weights {
  std::vector<double> w{1}, delta{0};
};

class ScalarRun {
public:
  ScalarRun(const Window &window, bool extrapolates)
      : window(window), extrapolates(extrapolates),
        hidden(window.problem.microbatches), output(hidden.size()),
        gradient(hidden.size()) {
    std::array<int64_t, 2> next{};
    // A task runs once what it needs from the other rank is there.
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (int32_t s = 0; s < 2; ++s)
        for (const ActionRange order = window.schedule.rank(s);
             next[s] < order.size() && isReady(order[next[s]]); goesOn = true)
          execute(s, order[next[s]++]);
    }
    for (int32_t s = 0; s < 2; ++s)
      EXPECT_EQ(next[s], window.schedule.rank(s).size());
  }

  /// The weight of a stage at the end of a slot, counted from 0.
  double at(int32_t stage, int64_t slot) const {
    const int64_t updates = std::max<int64_t>(0, slot - (stage == 0 ? 2 : 1));
    return of[stage].w[updates];
  }
  double deltaAt(int32_t stage, int64_t slot) const {
    const int64_t updates = std::max<int64_t>(0, slot - (stage == 0 ? 2 : 1));
    return of[stage].delta[updates];
  }
  double y(int64_t microbatch) const { return *output[microbatch]; }

private:
  static constexpr double rate = 0.1, target = 2, spread = 0.125;

  /// Delay of the forward against the backward, in updates.
  double delayOf(int32_t stage) const {
    const ReplicaVersions &replica = window.versions.replicas[stage];
    return replica.forwardDelay.mean() - replica.backwardDelay.mean();
  }

  bool isReady(Action action) const {
    if (action.subject == 1)
      return action.kind() != ActionKind::Forward ||
             hidden[action.index].has_value();
    return action.kind() != ActionKind::Backward ||
           gradient[action.index].has_value();
  }

  void execute(int32_t stage, Action action) {
    const ReplicaVersions &reads = window.versions.replicas[stage];
    const int64_t m = action.index;
    Weights &weights = of[stage];
    if (action.kind() == ActionKind::Forward) {
      const double w = weights.w[reads.forward[m]];
      (stage == 0 ? hidden : output)[m] = stage == 0 ? w : w * *hidden[m];
    } else if (action.kind() == ActionKind::Backward && stage == 1) {
      const double error = *output[m] - target;
      const int32_t version = reads.backward[m];
      double w = weights.w[version];
      if (extrapolates)
        w -= delayOf(stage) * weights.delta[version];
      gradient[m] = w * error;
      change[stage] = error * *hidden[m];
    } else if (action.kind() == ActionKind::Backward) {
      change[stage] = *gradient[m];
    } else {
      // Step m, of one micro-batch.
      const double before = weights.w.back(),
                   after = before - rate * change[stage];
      const double gamma = std::pow(spread, 1 / delayOf(stage));
      weights.w.push_back(after);
      weights.delta.push_back(gamma * weights.delta.back() +
                              (1 - gamma) * (after - before));
    }
  }

  const Window &window;
  const bool extrapolates;
  std::vector<std::optional<double>> hidden, output, gradient;
  std::array<double, 2> change{};
  std::array<Weights, 2> of;
};

Window pipeMare() {
  return runFamily("pipemare:spatial=1", windowOf(2, 1, 200));
}

struct Row {
  int64_t slot;
  double w1, w2;
};

constexpr double digits = 5.1e-11;

TEST(ScalarRun, FollowsTheOrderAndTheVersions) {
  const Window window = pipeMare();
  EXPECT_EQ(window.versions.replicas[0].forwardDelay.mean(), 3);
  EXPECT_EQ(window.versions.replicas[1].forwardDelay.mean(), 1);
  const ScalarRun run(window, /*extrapolates=*/false);
  for (const Row &row :
       {Row{1, 1, 1}, Row{2, 1, 1.1}, Row{3, 1.1, 1.2}, Row{4, 1.21, 1.29},
        Row{5, 1.318, 1.37}, Row{6, 1.4212, 1.43391},
        Row{7, 1.500797, 1.4753283}, Row{8, 1.5498797393, 1.4898403525}}) {
    EXPECT_NEAR(run.at(0, row.slot), row.w1, digits) << row.slot;
    EXPECT_NEAR(run.at(1, row.slot), row.w2, digits) << row.slot;
  }
  EXPECT_NEAR(run.y(3), 1.2, digits);
  EXPECT_NEAR(run.y(4), 1.419, digits);
  EXPECT_NEAR(run.y(5), 1.6577, digits);
  // delta is kept, and not used.
  EXPECT_NEAR(run.deltaAt(0, 3), 0.05, digits);
  EXPECT_NEAR(run.deltaAt(1, 3), 0.0984375, digits);
  EXPECT_NEAR(run.at(0, 200), 1.457623, 5.1e-7);
  EXPECT_NEAR(run.at(1, 200), 1.372097, 5.1e-7);
  EXPECT_NEAR(run.at(0, 200) * run.at(1, 200), 2, 1e-6);
}

TEST(ScalarRun, MovesTheWeightsOfTheBackwardBack) {
  const Window window = pipeMare();
  const ScalarRun run(window, /*extrapolates=*/true);
  for (const Row &row :
       {Row{2, 1, 1.1}, Row{3, 1.1, 1.2}, Row{4, 1.20125, 1.29},
        Row{5, 1.300390625, 1.37}, Row{6, 1.39630625, 1.43391},
        Row{7, 1.4711749653, 1.4764687859}, Row{8, 1.5196349772, 1.4940704676},
        Row{9, 1.5390041148, 1.4854688589}}) {
    EXPECT_NEAR(run.at(0, row.slot), row.w1, digits) << row.slot;
    EXPECT_NEAR(run.at(1, row.slot), row.w2, digits) << row.slot;
  }
  EXPECT_NEAR(run.deltaAt(0, 3), 0.05, digits);
  EXPECT_NEAR(run.deltaAt(1, 3), 0.0984375, digits);
  EXPECT_NEAR(run.deltaAt(0, 4), 0.075625, digits);
  EXPECT_NEAR(run.deltaAt(1, 4), 0.0910546875, digits);
  EXPECT_NEAR(run.y(3), 1.2, digits);
  EXPECT_NEAR(run.y(4), 1.419, digits);
  EXPECT_NEAR(run.y(5), 1.6457125, digits);
  EXPECT_NEAR(run.at(0, 200), 1.438544, 5.1e-7);
  EXPECT_NEAR(run.at(1, 200), 1.390295, 5.1e-7);
  EXPECT_NEAR(run.at(0, 200) * run.at(1, 200), 2, 1e-6);
}

// The alternating order has other delays, and so other weights.
TEST(ScalarRun, DependsOnTheOrder) {
  const Window window = runFamily("pipemare", windowOf(2, 1, 200));
  const ScalarRun run(window, /*extrapolates=*/false);
  EXPECT_GT(std::abs(run.at(0, 8) - 1.5498797393), 1e-3);
}

} // namespace
