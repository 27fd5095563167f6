//===- SppClock.cpp - SPP's execution order, by its clock -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/SppClock.h"

#include <algorithm>

using namespace rondo;

void SppClock::setNumStages(int32_t stages) {
  numStages = stages;
  steps.assign(size_t(4) * (stages - 1) + 1, Step());
  stepsOf.assign(numResources(), {-1, -1});
}

void SppClock::setStage(int32_t stage, int64_t forwardNs, int64_t backwardNs,
                        int64_t sendNs, int64_t sendBackNs) {
  const int32_t there = forwardOf(stage), back = backwardOf(stage);
  if (there == back) {
    steps[there] = {stage, forwardNs + backwardNs};
    stepsOf[stage].first = there;
    return;
  }
  steps[there] = {stage, forwardNs};
  steps[back] = {stage, backwardNs};
  stepsOf[stage] = {there, back};
  const int32_t channel = numStages + stage,
                backChannel = channel + (isFullDuplex ? numStages - 1 : 0);
  steps[there + 1] = {channel, sendNs};
  steps[back - 1] = {backChannel, sendBackNs};
  stepsOf[channel].first = there + 1;
  auto &[one, other] = stepsOf[backChannel];
  (isFullDuplex ? one : other) = back - 1;
}

/// Each step serves its micro-batches in order, because the step before does.
bool SppClock::begin(int32_t resource, int64_t now,
                     std::vector<int64_t> &latest, std::vector<Block> *blocks) {
  if (isBusy[resource])
    return true;
  const auto [one, other] = stepsOf[resource];
  int32_t chosen = -1;
  for (int32_t step : {one, other}) {
    if (step < 0 || steps[step].begun == steps[step].ready)
      continue;
    if (chosen < 0 || steps[step].begun + step <= steps[chosen].begun + chosen)
      chosen = step;
  }
  if (chosen < 0)
    return true;
  if (now > latest[resource])
    return false;
  latest[resource] += steps[chosen].ns;
  isBusy[resource] = true;
  if (blocks)
    blocks->push_back({chosen, steps[chosen].begun, now});
  ++steps[chosen].begun;
  events.push_back({now + steps[chosen].ns, resource, chosen});
  std::push_heap(events.begin(), events.end(),
                 [](const Event &a, const Event &b) { return a.ns > b.ns; });
  return true;
}

void SppClock::end(const Event &event) {
  isBusy[event.resource] = false;
  touched.push_back(event.resource);
  if (event.resource < numStages && event.step == backwardOf(event.resource))
    lastBackward[event.resource] = event.ns;
  if (static_cast<size_t>(event.step) + 1 < steps.size()) {
    ++steps[event.step + 1].ready;
    touched.push_back(steps[event.step + 1].resource);
  }
}

bool SppClock::run(std::vector<int64_t> &latest, std::vector<Block> *blocks) {
  for (Step &step : steps)
    step.ready = step.begun = 0;
  isBusy.assign(numResources(), false);
  lastBackward.assign(numStages, 0);
  events.clear();
  steps[0].ready = microbatches;
  if (!begin(steps[0].resource, 0, latest, blocks))
    return false;
  while (!events.empty()) {
    const int64_t now = events.front().ns;
    touched.clear();
    // Processes all ends of this instant before anything begins.
    while (!events.empty() && events.front().ns == now) {
      const Event event = events.front();
      std::pop_heap(events.begin(), events.end(),
                    [](const Event &a, const Event &b) { return a.ns > b.ns; });
      events.pop_back();
      end(event);
    }
    for (int32_t resource : touched)
      if (!begin(resource, now, latest, blocks))
        return false;
  }
  return true;
}
