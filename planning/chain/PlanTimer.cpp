//===- PlanTimer.cpp - The time of a plan's iteration ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanTimer.h"

#include <algorithm>

using namespace rondo;

const char *rondo::nameOf(PlanEvaluator evaluator) {
  constexpr const char *names[numPlanEvaluators] = {"1f1b", "spp",
                                                    "spp-full-duplex"};
  return names[static_cast<int>(evaluator)];
}

int64_t PlanTimer::leastNs(const std::vector<StageNs> &stages,
                           int64_t ceiling) const {
  const int64_t M = this->M;
  const bool isOneFOneB = evaluator == PlanEvaluator::OneFOneB;
  const auto S = static_cast<int32_t>(stages.size());
  int64_t way = 0;
  for (const StageNs &stage : stages)
    way += stage.forward + stage.backward + stage.send + stage.sendBack;
  // Path latencies of one micro-batch: `there` from the beginning to the stage,
  // `below` from the end of the stage's F to the begin of its B, `back` from
  // the end of the stage's B to the end.
  int64_t there = 0, below = way, back = 0, least = way;
  for (int32_t n = 0; n < S && least <= ceiling; ++n) {
    const StageNs &stage = stages[n];
    const int64_t both = stage.forward + stage.backward;
    below -= both;
    const int64_t after = std::max(back, stage.allReduce);
    least = std::max(least, there + M * both + after);
    if (isOneFOneB) {
      // Number of forwards before the stage's first backward, which is also the
      // maximum in flight.
      const int64_t before = std::min<int64_t>(M, S - n);
      least = std::max(
          least, there +
                     std::max(stage.forward + below, before * stage.forward) +
                     M * stage.backward + (M - before) * stage.forward + after);
      const int64_t rounds = 1 + (M - 1) / before;
      least = std::max(least, there + rounds * (both + below) + after);
    } else {
      least = std::max(least, there + stage.forward + below +
                                  M * stage.backward + after);
    }
    least = std::max(
        least, way + (M - 1) * (evaluator == PlanEvaluator::Spp
                                    ? 0
                                    : std::max(stage.send, stage.sendBack)));
    if (evaluator == PlanEvaluator::Spp)
      least = std::max(least, there + stage.forward +
                                  M * (stage.send + stage.sendBack) +
                                  stage.backward + back);
    below -= stage.send + stage.sendBack;
    there += stage.forward + stage.send;
    back += stage.backward + stage.sendBack;
  }
  return least;
}

/// Sets the latest begin of each stage's first task with which the iteration
/// may still end by `ceiling`.
void PlanTimer::setLatest(const std::vector<StageNs> &stages, int64_t ceiling) {
  int64_t back = 0;
  latest.clear();
  for (const StageNs &stage : stages) {
    latest.push_back(ceiling - M * (stage.forward + stage.backward) -
                     std::max(back, stage.allReduce));
    back += stage.backward + stage.sendBack;
  }
}

/// Appends the latest begin of each channel's first message, for SPP's
/// evaluators.
void PlanTimer::setLatestOfChannels(const std::vector<StageNs> &stages,
                                    int64_t ceiling) {
  const bool isFullDuplex = evaluator == PlanEvaluator::SppFullDuplex;
  for (const bool isBack : {false, true}) {
    if (isBack && !isFullDuplex)
      return;
    int64_t back = 0;
    for (size_t n = 0; n + 1 < stages.size(); ++n) {
      const StageNs &stage = stages[n];
      back += stage.backward;
      const int64_t work = isFullDuplex ? (isBack ? stage.sendBack : stage.send)
                                        : stage.send + stage.sendBack;
      latest.push_back(ceiling - M * work - back);
      back += stage.sendBack;
    }
  }
}

int64_t PlanTimer::run(const std::vector<StageNs> &stages, int64_t ceiling) {
  if (leastNs(stages, ceiling) > ceiling)
    return infinite;
  return evaluator == PlanEvaluator::OneFOneB ? runOneFOneB(stages, ceiling)
                                              : runSpp(stages, ceiling);
}

int64_t PlanTimer::runOneFOneB(const std::vector<StageNs> &stages,
                               int64_t ceiling) {
  const auto S = static_cast<int32_t>(stages.size());
  clock.assign(S, 0);
  forwardLink.assign(S, 0);
  backwardLink.assign(S, 0);
  forwards.assign(S, 0);
  backwards.assign(S, 0);
  forwardArrival.assign(static_cast<size_t>(S) * M, -1);
  backwardArrival.assign(static_cast<size_t>(S) * M, -1);
  std::fill_n(forwardArrival.begin(), M, 0);
  setLatest(stages, ceiling);
  int64_t left = 2 * int64_t(S) * M;
  while (left > 0)
    for (int32_t n = 0; n < S; ++n) {
      const StageNs &stage = stages[n];
      for (; backwards[n] < M; --left) {
        // The stage runs S - 1 - n forwards ahead.
        const bool isForward =
            forwards[n] < M && forwards[n] - backwards[n] < S - n;
        int32_t &m = isForward ? forwards[n] : backwards[n];
        const size_t here = static_cast<size_t>(n) * M + m;
        const int64_t arrival =
            (isForward ? forwardArrival : backwardArrival)[here];
        if (arrival < 0)
          break;
        const int64_t begin = std::max(clock[n], arrival),
                      ns = isForward ? stage.forward : stage.backward,
                      end = begin + ns;
        if (begin > latest[n])
          return infinite;
        latest[n] += ns;
        clock[n] = end;
        ++m;
        if (isForward && n + 1 < S) {
          forwardLink[n] = std::max(end, forwardLink[n]) + stage.send;
          forwardArrival[here + M] = forwardLink[n];
        } else if (isForward) {
          backwardArrival[here] = end;
        } else if (n > 0) {
          backwardLink[n] =
              std::max(end, backwardLink[n]) + stages[n - 1].sendBack;
          backwardArrival[here - M] = backwardLink[n];
        }
      }
    }
  int64_t time = 0;
  for (int32_t n = 0; n < S; ++n)
    time = std::max(time, clock[n] + stages[n].allReduce);
  return time;
}

int64_t PlanTimer::runSpp(const std::vector<StageNs> &stages, int64_t ceiling) {
  const auto S = static_cast<int32_t>(stages.size());
  sppClock.setNumStages(S);
  for (int32_t n = 0; n < S; ++n)
    sppClock.setStage(n, stages[n].forward, stages[n].backward, stages[n].send,
                      stages[n].sendBack);
  setLatest(stages, ceiling);
  setLatestOfChannels(stages, ceiling);
  if (!sppClock.run(latest))
    return infinite;
  int64_t time = 0;
  for (int32_t n = 0; n < S; ++n)
    time = std::max(time, sppClock.endNs(n) + stages[n].allReduce);
  return time;
}
