//===- SppClock.cpp - SPP's execution order, by its clock -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/SppClock.h"

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
  if (clock.isBusy(resource))
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
  clock.setBusy(resource, true);
  if (blocks)
    blocks->push_back({chosen, steps[chosen].begun, now});
  ++steps[chosen].begun;
  clock.add(now + steps[chosen].ns, resource, chosen);
  return true;
}

void SppClock::end(int32_t resource, int32_t step, int64_t now) {
  clock.setBusy(resource, false);
  clock.touch(resource);
  if (resource < numStages && step == backwardOf(resource))
    lastBackward[resource] = now;
  if (static_cast<size_t>(step) + 1 < steps.size()) {
    ++steps[step + 1].ready;
    clock.touch(steps[step + 1].resource);
  }
}

bool SppClock::run(std::vector<int64_t> &latest, std::vector<Block> *blocks) {
  for (Step &step : steps)
    step.ready = step.begun = 0;
  lastBackward.assign(numStages, 0);
  clock.reset(numResources());
  steps[0].ready = microbatches;
  clock.touch(steps[0].resource);
  return clock.run(
      [this](const auto &event) { end(event.resource, event.what, event.ns); },
      [&](int32_t resource, int64_t now) {
        return begin(resource, now, latest, blocks);
      });
}
