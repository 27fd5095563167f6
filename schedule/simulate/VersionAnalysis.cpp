//===- VersionAnalysis.cpp - Weight versions of all tasks -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/VersionAnalysis.h"

#include "schedule/simulate/DelayTable.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

namespace {

/// Positions of one replica's tasks, indexed by micro-batch.
struct ReplicaTasks {
  /// Number of steps of the replica before F, before I or B, and before R, in
  /// its rank's order: the newest version at that point.
  std::vector<int32_t> liveAtForward, liveAtBackward, liveAtRecompute;
  /// Positions in the array of all actions; -1: none.
  std::vector<int64_t> forwardAt, backwardAt, recomputeAt;
  /// [step]: its position.
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
    result.replicas.resize(problem.numReplicas());
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      if (auto fault = readVersions(replica))
        return std::move(*fault);
    shareTurns();
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
      if (auto fault = measureDelays(replica))
        return std::move(*fault);
      lastReads.emplace_back(tasks[replica].stepAt.size() + 1, -1);
    }
    if (auto fault = findReads())
      return std::move(*fault);
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      countCopies(replica);
    for (int64_t m = 0; m < microbatches; ++m)
      for (const ReplicaVersions &versions : result.replicas) {
        result.areForwardsVertical &=
            versions.forward[m] == result.replicas[0].forward[m];
        result.areBackwardsVertical &=
            versions.backward[m] == result.replicas[0].backward[m];
      }
    return std::move(result);
  }

private:
  void collect() {
    tasks.resize(problem.numReplicas());
    for (ReplicaTasks &of : tasks) {
      of.liveAtForward.assign(microbatches, 0);
      of.liveAtBackward = of.liveAtRecompute = of.liveAtForward;
      of.forwardAt.assign(microbatches, -1);
      of.backwardAt = of.recomputeAt = of.forwardAt;
    }
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      const Action action = schedule.rank(0).begin()[i];
      ReplicaTasks &of = tasks[action.subject];
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

  /// The start in ns of the first backward of iteration `t`, on the replica of
  /// a stage that begins it last; maxSum without backwards.
  int64_t firstBackwardNs(int32_t stage, int32_t t) const {
    int64_t lastNs = -1;
    for (const Replica &replica : problem.replicas.of(stage)) {
      const ReplicaTasks &of =
          tasks[problem.replicas.numberOf(stage, replica.index)];
      int64_t firstNs = maxSum;
      for (int64_t m = t * each; m < (t + 1) * each; ++m)
        if (of.backwardAt[m] >= 0)
          firstNs = std::min(firstNs, simulation.startNs[of.backwardAt[m]]);
      if (firstNs < maxSum)
        lastNs = std::max(lastNs, firstNs);
    }
    return lastNs < 0 ? maxSum : lastNs;
  }

  /// For each iteration, finds the newest version whose step had ended on all
  /// stages when the first backward of the iteration began. Replicas of a stage
  /// step together, since each step waits for the sum of their gradients. The
  /// simulation does not include that wait, so a replica with fewer samples
  /// would run ahead without limit. So the last replica determines when a stage
  /// begins.
  void findCommitted() {
    std::vector<int64_t> committedNs;
    for (const ReplicaTasks &of : tasks) {
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
      // The steps of a replica end in their order.
      committed[t] = static_cast<int32_t>(
          std::upper_bound(committedNs.begin(), committedNs.end(), beginNs) -
          committedNs.begin());
    }
  }

  /// A fault if a replica reads a version before it has made it.
  std::optional<Fault> needMade(int32_t replica, int64_t position, int64_t m,
                                int32_t version, int32_t live) const {
    if (version <= live)
      return std::nullopt;
    const Action action = schedule.rank(0).begin()[position];
    Fault fault = makeFaultAt<FaultKind::VersionNotMade>(
        Rule::Versions, problem.rankOf(replica),
        position - schedule.rankBegin(problem.rankOf(replica)), action, version,
        m, live);
    return fault;
  }

  int32_t delayed(int64_t m, const std::vector<int32_t> &delays) const {
    return static_cast<int32_t>(m / each) - delays[fixed->indexOf(m)];
  }

  /// The number of the stage's replica that takes a micro-batch; the first of
  /// those that share its samples.
  int32_t replicaOf(int32_t stage, int64_t m) const {
    const Replica &first = *problem.replicas.of(stage).begin();
    return problem.replicas.numberOf(stage,
                                     static_cast<int32_t>(m % first.turns));
  }

  /// The version of stage 0 when a micro-batch entered: that of the replica
  /// that takes it, by its rank's order.
  int32_t entered(int64_t m) const {
    return tasks[replicaOf(0, m)].liveAtForward[m];
  }

  std::optional<Fault> readVersions(int32_t replica) {
    const VersionPolicy policy =
        problem.policyOf(problem.replicas[replica].stage);
    const ReplicaTasks &of = tasks[replica];
    ReplicaVersions &versions = result.replicas[replica];
    versions.forward.resize(microbatches);
    versions.backward.resize(microbatches);
    versions.recompute.resize(microbatches);
    for (int64_t m = 0; m < microbatches; ++m) {
      if (!problem.replicas[replica].takes(m))
        continue;
      int32_t &read = versions.forward[m];
      switch (policy.forward) {
      case ForwardWeights::Live:
      case ForwardWeights::Stashed:
        read = of.liveAtForward[m];
        break;
      case ForwardWeights::Vertical:
        read = entered(m);
        break;
      case ForwardWeights::Minibatch:
        read = entered(m / each * each);
        break;
      }
      if (fixed)
        read = delayed(m, fixed->forward[replica]);
      if (auto fault =
              needMade(replica, of.forwardAt[m], m, read, of.liveAtForward[m]))
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
        back = delayed(m, fixed->backward[replica]);
      if (auto fault = needMade(replica, of.backwardAt[m], m, back,
                                of.liveAtBackward[m]))
        return fault;
      versions.isHorizontal &= read == back;
      versions.recompute[m] =
          !problem.recomputes(replica) ? read
          : fixed ? delayed(m, fixed->recompute[replica])
                  : readAgain(policy.activations, m, of, read, back);
    }
    return std::nullopt;
  }

  /// The version that R reads for a micro-batch, given the versions that F and
  /// the backward read.
  static int32_t readAgain(BackwardActivations activations, int64_t m,
                           const ReplicaTasks &of, int32_t forward,
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

  /// For micro-batches that a replica does not take, records what the one that
  /// takes them reads. So all replicas of a stage have the same table and the
  /// same mean delays: they step together, with one rate and one decay.
  void shareTurns() {
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
      ReplicaVersions &own = result.replicas[replica];
      for (int64_t m = 0; m < microbatches; ++m) {
        if (problem.replicas[replica].takes(m))
          continue;
        const ReplicaVersions &taker =
            result.replicas[replicaOf(problem.replicas[replica].stage, m)];
        own.forward[m] = taker.forward[m];
        own.backward[m] = taker.backward[m];
        own.recompute[m] = taker.recompute[m];
      }
    }
  }

  std::optional<Fault> measureDelays(int32_t replica) {
    const int64_t maxDelay =
        problem.policyOf(problem.replicas[replica].stage).maxDelay;
    ReplicaVersions &versions = result.replicas[replica];
    const ReplicaTasks &of = tasks[replica];
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
      // The micro-batches that it takes.
      const Replica &own = problem.replicas[replica];
      delays.least = delays.most = delayOf(own.turn);
      int64_t settled = 0;
      for (int64_t m = own.turn; m < microbatches; m += own.turns) {
        const int64_t delay = delayOf(m);
        delays.least = std::min(delays.least, delay);
        if (delay > delays.most) {
          delays.most = delay;
          settled = m / each;
        }
        if (delay <= maxDelay)
          continue;
        const int64_t position = at[m];
        const int32_t rank = problem.rankOf(replica);
        return makeFaultAt<FaultKind::TooLate>(
                   Rule::Versions, rank, position - schedule.rankBegin(rank),
                   schedule.rank(0).begin()[position], int64_t(read[m]), delay)
            .withFigures(0, maxDelay);
      }
      for (int64_t m = settled * each + own.turn; m < microbatches;
           m += own.turns, ++delays.number)
        delays.sum += delayOf(m);
    }
    return std::nullopt;
  }

  /// Finds the last read of each version and the number of slots needed.
  std::optional<Fault> findReads() {
    std::vector<int32_t> steps(problem.numReplicas(), 0);
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      const Action action = schedule.rank(0).begin()[i];
      const int32_t replica = action.subject;
      if (!action.isTask()) {
        ++steps[replica];
        continue;
      }
      ReplicaVersions &versions = result.replicas[replica];
      for (int64_t m = action.index, end = m + action.count; m < end; ++m) {
        const int32_t read = versions.readBy(action.kind())[m];
        if (auto fault = needMade(replica, i, m, read, steps[replica]))
          return fault;
        versions.slots = std::max(versions.slots, steps[replica] - read + 1);
        lastReads[replica][read] = i;
      }
    }
    return std::nullopt;
  }

  /// Counts the versions stored at once. A version is stored from the step that
  /// makes it to its last read; the newest always is. The number grows only at
  /// steps.
  void countCopies(int32_t replica) {
    const ReplicaTasks &of = tasks[replica];
    ReplicaVersions &versions = result.replicas[replica];
    const std::vector<int64_t> &lastRead = lastReads[replica];
    // Positions of the last reads of old versions; a step removes those before
    // it.
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
  std::vector<ReplicaTasks> tasks;
  std::vector<int32_t> committed;
  /// [replica][version]: position of the last task that reads it.
  std::vector<std::vector<int64_t>> lastReads;
  VersionAnalysis result;
};

} // namespace

std::vector<StageVersions>
rondo::stageVersions(const Problem &problem, const VersionAnalysis &versions) {
  std::vector<StageVersions> stages(problem.numStages());
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    StageVersions &stage = stages[problem.replicas[replica].stage];
    const ReplicaVersions &of = versions.replicas[replica];
    stage.copies = std::max<int64_t>(stage.copies, of.copies);
    stage.forwardDelay = std::max(stage.forwardDelay, of.forwardDelay.most);
    stage.backwardDelay = std::max(stage.backwardDelay, of.backwardDelay.most);
    if (problem.recomputes(replica))
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
