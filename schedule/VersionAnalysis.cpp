//===- VersionAnalysis.cpp - Which weights every task reads ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/VersionAnalysis.h"

#include "schedule/DelayTable.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

namespace {

/// The tasks of one home, by micro-batch.
struct HomeTasks {
  /// Steps of the home in front of F, of I or B, and of R, in its rank's order.
  std::vector<int32_t> liveAtForward, liveAtBackward, liveAtRecompute;
  /// Where they stand in the array of all actions; -1: nowhere.
  std::vector<int64_t> forwardAt, backwardAt, recomputeAt;
  /// By step: where it stands.
  std::vector<int64_t> stepAt;
};

class Analysis {
public:
  Analysis(const Problem &problem, const Schedule &schedule,
           const Simulation &simulation, const DelayTable *fixed)
      : problem(problem), schedule(schedule), simulation(simulation),
        fixed(fixed), microbatches(problem.microbatches),
        each(problem.microbatchesEach()) {}

  Result<VersionAnalysis> run() {
    collect();
    findCommitted();
    result.homes.resize(problem.numHomes());
    for (int32_t home = 0; home < problem.numHomes(); ++home)
      if (auto fault = readVersions(home))
        return std::move(*fault);
    for (int32_t home = 0; home < problem.numHomes(); ++home) {
      if (auto fault = measureDelays(home))
        return std::move(*fault);
      lastReads.emplace_back(tasks[home].stepAt.size() + 1, -1);
    }
    if (auto fault = findReads())
      return std::move(*fault);
    for (int32_t home = 0; home < problem.numHomes(); ++home)
      countCopies(home);
    for (int64_t m = 0; m < microbatches; ++m)
      for (const HomeVersions &versions : result.homes) {
        result.areForwardsVertical &=
            versions.forward[m] == result.homes[0].forward[m];
        result.areBackwardsVertical &=
            versions.backward[m] == result.homes[0].backward[m];
      }
    return std::move(result);
  }

private:
  void collect() {
    tasks.resize(problem.numHomes());
    for (HomeTasks &of : tasks) {
      of.liveAtForward.assign(microbatches, 0);
      of.liveAtBackward = of.liveAtRecompute = of.liveAtForward;
      of.forwardAt.assign(microbatches, -1);
      of.backwardAt = of.recomputeAt = of.forwardAt;
    }
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      const Action action = schedule.rank(0).begin()[i];
      HomeTasks &of = tasks[action.subject];
      const auto steps = static_cast<int32_t>(of.stepAt.size());
      if (action.kind() == ActionKind::Step)
        of.stepAt.push_back(i);
      for (int64_t m = action.index, end = m + action.count; m < end; ++m)
        if (action.kind() == ActionKind::Forward) {
          of.liveAtForward[m] = steps;
          of.forwardAt[m] = i;
        } else if (action.traits().makes & inputGradDone) {
          of.liveAtBackward[m] = steps;
          of.backwardAt[m] = i;
        } else if (action.kind() == ActionKind::Recompute) {
          of.liveAtRecompute[m] = steps;
          of.recomputeAt[m] = i;
        }
    }
  }

  /// The start of the first backward of iteration `t` on the replica of a stage
  /// where that is last; maxSum without backwards.
  int64_t firstBackwardNs(int32_t stage, int32_t t) const {
    int64_t lastNs = -1;
    for (const Home &home : problem.homes.of(stage)) {
      const HomeTasks &of = tasks[problem.homes.numberOf(stage, home.replica)];
      int64_t firstNs = maxSum;
      for (int64_t m = t * each; m < (t + 1) * each; ++m)
        if (of.backwardAt[m] >= 0)
          firstNs = std::min(firstNs, simulation.startNs[of.backwardAt[m]]);
      if (firstNs < maxSum)
        lastNs = std::max(lastNs, firstNs);
    }
    return lastNs < 0 ? maxSum : lastNs;
  }

  /// For each iteration, the newest version whose step had ended on all stages
  /// when the first backward of the iteration began. Replicas of a stage step
  /// together, since each step waits for the sum of their gradients, but the
  /// simulation has no such waits: a replica with fewer samples would run ahead
  /// without limit. So a stage begins with its last replica.
  void findCommitted() {
    std::vector<int64_t> committedNs;
    for (const HomeTasks &of : tasks) {
      committedNs.resize(of.stepAt.size(), 0);
      for (size_t t = 0; t < of.stepAt.size(); ++t)
        committedNs[t] =
            std::max(committedNs[t], simulation.endNs[of.stepAt[t]]);
    }
    committed.assign(problem.iterations, 0);
    for (int32_t t = 0; t < problem.iterations; ++t) {
      int64_t beginNs = maxSum;
      for (int32_t stage = 0; stage < problem.numStages(); ++stage)
        beginNs = std::min(beginNs, firstBackwardNs(stage, t));
      // Steps end in their order.
      committed[t] = static_cast<int32_t>(
          std::upper_bound(committedNs.begin(), committedNs.end(), beginNs) -
          committedNs.begin());
    }
  }

  /// A home reads a version only after it has made it.
  std::optional<Fault> needMade(int32_t home, int64_t position, int64_t m,
                                int32_t version, int32_t live) const {
    if (version <= live)
      return std::nullopt;
    const Action action = schedule.rank(0).begin()[position];
    Fault fault = makeFaultAt<FaultKind::VersionNotMade>(
        Rule::Versions, problem.rankOf(home),
        position - schedule.rankBegin(problem.rankOf(home)), action, version, m,
        live);
    return fault;
  }

  int32_t delayed(int64_t m, const std::vector<int32_t> &delays) const {
    return static_cast<int32_t>(m / each) - delays[fixed->indexOf(m)];
  }

  std::optional<Fault> readVersions(int32_t home) {
    const VersionPolicy policy = problem.policyOf(problem.homes[home].stage);
    const HomeTasks &of = tasks[home];
    HomeVersions &versions = result.homes[home];
    versions.forward.resize(microbatches);
    versions.backward.resize(microbatches);
    versions.recompute.resize(microbatches);
    // Stage 0's first home: where micro-batches enter.
    const std::vector<int32_t> &entered = tasks[0].liveAtForward;
    for (int64_t m = 0; m < microbatches; ++m) {
      int32_t &read = versions.forward[m];
      switch (policy.forward) {
      case ForwardWeights::Live:
      case ForwardWeights::Stashed:
        read = of.liveAtForward[m];
        break;
      case ForwardWeights::Vertical:
        read = entered[m];
        break;
      case ForwardWeights::Minibatch:
        read = entered[m / each * each];
        break;
      }
      if (fixed)
        read = delayed(m, fixed->forward[home]);
      if (auto fault =
              needMade(home, of.forwardAt[m], m, read, of.liveAtForward[m]))
        return fault;
      int32_t &back = versions.backward[m];
      switch (policy.backward) {
      case BackwardWeights::Stashed:
        back = read;
        break;
      case BackwardWeights::Committed:
        back = committed[m / each];
        break;
      case BackwardWeights::Live:
      case BackwardWeights::Extrapolated:
        back = of.liveAtBackward[m];
        break;
      }
      if (fixed)
        back = delayed(m, fixed->backward[home]);
      if (auto fault =
              needMade(home, of.backwardAt[m], m, back, of.liveAtBackward[m]))
        return fault;
      versions.isHorizontal &= read == back;
      versions.recompute[m] =
          !problem.recomputes(home) ? read
          : fixed ? delayed(m, fixed->recompute[home])
                  : readAgain(policy.activations, m, of, read, back);
    }
    return std::nullopt;
  }

  /// What R reads for a micro-batch, whose F and backward read what they do.
  static int32_t readAgain(BackwardActivations activations, int64_t m,
                           const HomeTasks &of, int32_t forward,
                           int32_t backward) {
    switch (activations) {
    case BackwardActivations::Graph:
    case BackwardActivations::Stashed:
      break;
    case BackwardActivations::Recompute:
      return backward;
    case BackwardActivations::Live:
    case BackwardActivations::Extrapolated:
      return of.liveAtRecompute[m];
    }
    return forward;
  }

  std::optional<Fault> measureDelays(int32_t home) {
    const int64_t mostDelay =
        problem.policyOf(problem.homes[home].stage).mostDelay;
    HomeVersions &versions = result.homes[home];
    const HomeTasks &of = tasks[home];
    for (auto [kind, measured, places] :
         {std::tuple(ActionKind::Forward, &versions.forwardDelay,
                     &of.forwardAt),
          std::tuple(ActionKind::Backward, &versions.backwardDelay,
                     &of.backwardAt),
          std::tuple(ActionKind::Recompute, &versions.recomputeDelay,
                     &of.recomputeAt)}) {
      const std::vector<int32_t> &read = versions.readBy(kind);
      Delays &delays = *measured;
      const std::vector<int64_t> &at = *places;
      auto delayOf = [&](int64_t m) { return m / each - read[m]; };
      delays.least = delays.most = delayOf(0);
      int64_t settled = 0;
      for (int64_t m = 0; m < microbatches; ++m) {
        const int64_t delay = delayOf(m);
        delays.least = std::min(delays.least, delay);
        if (delay > delays.most) {
          delays.most = delay;
          settled = m / each;
        }
        if (delay <= mostDelay)
          continue;
        const int64_t position = at[m];
        const int32_t rank = problem.rankOf(home);
        return makeFaultAt<FaultKind::TooLate>(
                   Rule::Versions, rank, position - schedule.rankBegin(rank),
                   schedule.rank(0).begin()[position], int64_t(read[m]), delay)
            .withFigures(0, mostDelay);
      }
      for (int64_t m = settled * each; m < microbatches; ++m, ++delays.number)
        delays.sum += delayOf(m);
    }
    return std::nullopt;
  }

  /// Where each version is read last, and how far behind the newest any is.
  std::optional<Fault> findReads() {
    std::vector<int32_t> steps(problem.numHomes(), 0);
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      const Action action = schedule.rank(0).begin()[i];
      const int32_t home = action.subject;
      if (!action.isTask()) {
        ++steps[home];
        continue;
      }
      HomeVersions &versions = result.homes[home];
      for (int64_t m = action.index, end = m + action.count; m < end; ++m) {
        const int32_t read = versions.readBy(action.kind())[m];
        if (auto fault = needMade(home, i, m, read, steps[home]))
          return fault;
        versions.slots = std::max(versions.slots, steps[home] - read + 1);
        lastReads[home][read] = i;
      }
    }
    return std::nullopt;
  }

  /// A version is kept from the step that makes it to the last task that reads
  /// it; the newest always. The number grows only at steps.
  void countCopies(int32_t home) {
    const HomeTasks &of = tasks[home];
    HomeVersions &versions = result.homes[home];
    const std::vector<int64_t> &lastRead = lastReads[home];
    // Old versions by when they end; a step leaves those that end behind it.
    std::vector<int64_t> ends;
    for (size_t t = 0; t < of.stepAt.size(); ++t) {
      ends.push_back(lastRead[t]);
      ends.erase(
          std::remove_if(ends.begin(), ends.end(),
                         [&](int64_t end) { return end < of.stepAt[t]; }),
          ends.end());
      versions.copies =
          std::max(versions.copies, static_cast<int32_t>(ends.size()) + 1);
    }
  }

  const Problem &problem;
  const Schedule &schedule;
  const Simulation &simulation;
  const DelayTable *const fixed;
  const int64_t microbatches, each;
  std::vector<HomeTasks> tasks;
  std::vector<int32_t> committed;
  /// By home and version: where the last task that reads it stands.
  std::vector<std::vector<int64_t>> lastReads;
  VersionAnalysis result;
};

} // namespace

std::vector<StageVersions>
rondo::stageVersions(const Problem &problem, const VersionAnalysis &versions) {
  std::vector<StageVersions> stages(problem.numStages());
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    StageVersions &stage = stages[problem.homes[home].stage];
    const HomeVersions &of = versions.homes[home];
    stage.copies = std::max<int64_t>(stage.copies, of.copies);
    stage.forwardDelay = std::max(stage.forwardDelay, of.forwardDelay.most);
    stage.backwardDelay = std::max(stage.backwardDelay, of.backwardDelay.most);
    if (problem.recomputes(home))
      stage.recomputeDelay =
          std::max(stage.recomputeDelay, of.recomputeDelay.most);
  }
  return stages;
}

Result<VersionAnalysis> rondo::analyzeVersions(const Problem &problem,
                                               const Schedule &schedule,
                                               const Simulation &simulation,
                                               const DelayTable *fixed) {
  return Analysis(problem, schedule, simulation, fixed).run();
}
