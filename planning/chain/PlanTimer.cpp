//===- PlanTimer.cpp - How long a plan's iteration takes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanTimer.h"

#include <algorithm>

using namespace rondo;

const char *rondo::nameOf(PlanEvaluator evaluator) {
  constexpr const char *names[numPlanEvaluators] = {"1f1b", "spp",
                                                    "spp-full-duplex"};
  return names[static_cast<int>(evaluator)];
}

LayerSums::LayerSums(const ChainProblem &problem) : sums(1) {
  for (const ChainLayer &layer : problem.layers) {
    const ChainLayer &before = sums.back();
    ChainLayer sum;
    sum.forwardNs = before.forwardNs + layer.forwardNs;
    sum.backwardNs = before.backwardNs + layer.backwardNs;
    sum.stashBytes = before.stashBytes + layer.stashBytes;
    sum.parameterBytes = before.parameterBytes + layer.parameterBytes;
    sums.push_back(std::move(sum));
  }
}

static int64_t ceilDivided(__int128 dividend, int64_t divisor) {
  return static_cast<int64_t>((dividend + divisor - 1) / divisor);
}

PlanTimer::PlanTimer(const ChainProblem &problem, PlanEvaluator evaluator)
    : problem(problem), evaluator(evaluator), sums(problem) {}

void PlanTimer::setTimes(const ChainPlan &plan) {
  stages.assign(plan.size(), {});
  for (size_t n = 0; n < plan.size(); ++n) {
    const auto &[first, end, devices] = plan[n];
    const auto r = static_cast<int64_t>(devices.size());
    StageNs &stage = stages[n];
    stage.forward = ceilDivided(sums.forwardNs(first, end), r);
    stage.backward = ceilDivided(sums.backwardNs(first, end), r);
    int64_t slowest = never, latency = 0;
    for (int32_t u : devices)
      for (int32_t v : devices)
        if (u != v) {
          slowest = std::min(slowest, problem.rate(u, v));
          latency = std::max(latency, problem.latencyNs(u, v));
        }
    if (r > 1)
      stage.allReduce =
          2 * (r - 1) * latency +
          ceilDivided(__int128(2000) * (r - 1) * sums.parameterBytes(first, end),
                      r * slowest);
    if (n + 1 == plan.size())
      continue;
    int64_t there = never, back = never, way = 0;
    for (int32_t u : devices)
      for (int32_t v : plan[n + 1].devices) {
        there = std::min(there, problem.rate(u, v));
        back = std::min(back, problem.rate(v, u));
        way = std::max(way, problem.latencyNs(u, v));
      }
    const __int128 bytes = __int128(1000) * problem.layers[end - 1].outputBytes;
    const auto pairs = static_cast<int64_t>(r * plan[n + 1].devices.size());
    stage.send = way + ceilDivided(bytes, pairs * there);
    stage.sendBack = way + ceilDivided(bytes, pairs * back);
  }
}

int64_t PlanTimer::memoryBytes(const ChainPlan &plan) const {
  int64_t most = 0;
  for (size_t n = 0; n < plan.size(); ++n) {
    const auto &[first, end, devices] = plan[n];
    const auto underWay = std::min<int64_t>(
        problem.microbatches, static_cast<int64_t>(plan.size() - n));
    most = std::max(
        most,
        problem.stateMultiplier * sums.parameterBytes(first, end) +
            underWay * ceilDivided(sums.stashBytes(first, end),
                                   static_cast<int64_t>(devices.size())));
  }
  return most;
}

int64_t PlanTimer::run(const ChainPlan &plan, int64_t ceiling) {
  setTimes(plan);
  // A micro-batch passes the stages before one, which then runs all of its
  // tasks, and the last one goes the way back.
  int64_t way = 0;
  for (const StageNs &stage : stages) {
    const int64_t own =
        problem.microbatches * (stage.forward + stage.backward);
    if (way + own > ceiling || own + stage.allReduce > ceiling)
      return never;
    way += stage.forward + stage.backward + stage.send + stage.sendBack;
  }
  return evaluator == PlanEvaluator::OneFOneB ? runOneFOneB() : runSpp();
}

int64_t PlanTimer::runOneFOneB() {
  const auto S = static_cast<int32_t>(stages.size());
  const int32_t M = problem.microbatches;
  clock.assign(S, 0);
  forwardLink.assign(S, 0);
  backwardLink.assign(S, 0);
  position.assign(S, 0);
  forwardArrival.assign(static_cast<size_t>(S) * M, -1);
  backwardArrival.assign(static_cast<size_t>(S) * M, -1);
  std::fill_n(forwardArrival.begin(), M, 0);
  int64_t left = 2 * int64_t(S) * M;
  while (left > 0)
    for (int32_t n = 0; n < S; ++n) {
      const int32_t warmUp = std::min(M, S - 1 - n);
      const StageNs &stage = stages[n];
      for (; position[n] < 2 * M; ++position[n], --left) {
        // Forwards of the warm-up, pairs of F and B, then the other backwards.
        const int32_t at = position[n], paired = at - warmUp;
        const bool isForward =
            paired < 0 || (paired < 2 * (M - warmUp) && paired % 2 == 0);
        const int32_t m = paired < 0 ? at
                          : paired >= 2 * (M - warmUp)
                              ? paired - (M - warmUp)
                              : paired / 2 + (isForward ? warmUp : 0);
        const size_t here = static_cast<size_t>(n) * M + m;
        const int64_t arrival =
            (isForward ? forwardArrival : backwardArrival)[here];
        if (arrival < 0)
          break;
        const int64_t end = std::max(clock[n], arrival) +
                            (isForward ? stage.forward : stage.backward);
        clock[n] = end;
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

/// Starts what comes first on a free resource: the micro-batch of the earliest
/// cycle, micro-batch + step, and of equals the later step. Each step serves its
/// micro-batches in order, since the step before does.
void PlanTimer::begin(int32_t resource, int64_t now) {
  if (isBusy[resource])
    return;
  const auto [one, other] = stepsOf[resource];
  int32_t chosen = -1;
  for (int32_t step : {one, other}) {
    if (step < 0 || steps[step].begun == steps[step].ready)
      continue;
    if (chosen < 0 ||
        steps[step].begun + step <= steps[chosen].begun + chosen)
      chosen = step;
  }
  if (chosen < 0)
    return;
  isBusy[resource] = true;
  ++steps[chosen].begun;
  events.push_back({now + steps[chosen].ns, resource, chosen});
  std::push_heap(events.begin(), events.end(),
                 [](const Event &a, const Event &b) { return a.ns > b.ns; });
}

int64_t PlanTimer::runSpp() {
  const auto S = static_cast<int32_t>(stages.size());
  const bool isFullDuplex = evaluator == PlanEvaluator::SppFullDuplex;
  // Stages, then the channels of boundaries, forwards and backwards.
  const int32_t channel = S, backChannel = isFullDuplex ? 2 * S - 1 : S;
  steps.clear();
  for (int32_t n = 0; n + 1 < S; ++n) {
    steps.push_back({n, stages[n].forward});
    steps.push_back({channel + n, stages[n].send});
  }
  steps.push_back({S - 1, stages[S - 1].forward + stages[S - 1].backward});
  for (int32_t n = S - 1; n-- > 0;) {
    steps.push_back({backChannel + n, stages[n].sendBack});
    steps.push_back({n, stages[n].backward});
  }
  const int32_t resources = isFullDuplex ? 3 * S - 2 : 2 * S - 1;
  stepsOf.assign(resources, {-1, -1});
  for (size_t j = 0; j < steps.size(); ++j) {
    auto &[one, other] = stepsOf[steps[j].resource];
    (one < 0 ? one : other) = static_cast<int32_t>(j);
  }
  isBusy.assign(resources, false);
  lastBackward.assign(S, 0);
  events.clear();
  steps[0].ready = problem.microbatches;
  begin(steps[0].resource, 0);
  std::vector<int32_t> &touched = position;
  while (!events.empty()) {
    const int64_t now = events.front().ns;
    touched.clear();
    // All that ends now is known before anything begins.
    while (!events.empty() && events.front().ns == now) {
      const Event event = events.front();
      std::pop_heap(events.begin(), events.end(),
                    [](const Event &a, const Event &b) { return a.ns > b.ns; });
      events.pop_back();
      isBusy[event.resource] = false;
      touched.push_back(event.resource);
      if (event.resource < S && event.step >= 2 * S - 2)
        lastBackward[event.resource] = now;
      if (static_cast<size_t>(event.step) + 1 < steps.size()) {
        ++steps[event.step + 1].ready;
        touched.push_back(steps[event.step + 1].resource);
      }
    }
    for (int32_t resource : touched)
      begin(resource, now);
  }
  int64_t time = 0;
  for (int32_t n = 0; n < S; ++n)
    time = std::max(time, lastBackward[n] + stages[n].allReduce);
  return time;
}
