//===- CapOrder.cpp - Task order forced by a memory cap -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/CapOrder.h"

#include <algorithm>

using namespace rondo;

/// Above this number of stages per rank, CapOrder costs more time than the
/// bounds gain.
static constexpr int32_t maxPlaces = 8;

CapOrder::CapOrder(const FlatProblem &flat, int32_t rank)
    : places(int32_t(flat.stagesOf[rank].size())), all(flat.microbatches) {
  const std::vector<int32_t> &stages = flat.stagesOf[rank];
  const int64_t cap = flat.caps[rank];
  auto takes = [&](int32_t place) { return flat.takes[stages[place]]; };
  int64_t sum = 0;
  for (int32_t s = 0; s < places; ++s)
    sum += takes(s) * all;
  if (sum <= cap || places > maxPlaces || !flat.isChain)
    return;
  later.resize(size_t(places) * places * all);
  behind.resize(numCodes(places) * places * all, all);

  // When F of (other, j) starts, the stages before `other` still hold their
  // micro-batches from j on: none of these has passed `other`.
  for (int32_t s = 0; s < places; ++s)
    for (int32_t other = s + 1; other < places; ++other) {
      int32_t j = 0;
      for (int32_t k = 0; k < all; ++k) {
        auto held = [&] {
          int64_t bytes = takes(other);
          for (int32_t before = 0; before < other; ++before)
            bytes +=
                (std::max(started(s, k, before), j + 1) - j) * takes(before);
          return bytes;
        };
        while (j < k && held() > cap)
          ++j;
        later[(size_t(s) * places + other) * all + k] = j;
      }
    }

  // `task` of (of, j) must come before F of (s, k) if the rank cannot release
  // enough bytes for F of (s, k) to keep the cap as long as the task has not
  // run.
  auto isBehind = [&](Task task, int32_t of, int32_t j, int32_t s, int32_t k) {
    if (task == Task::F)
      return of > s && started(s, k, of) > j;
    int64_t held = 0;
    for (int32_t i = 0; i < places; ++i) {
      const int32_t count = started(s, k, i);
      int32_t inputGrads = i <= s ? k : count, weightGrads = inputGrads;
      if (task == Task::I && i <= of)
        inputGrads = weightGrads = std::min(inputGrads, j);
      else if (task == Task::W && i == of)
        weightGrads = std::min(weightGrads, j);
      held += count * takes(i) - inputGrads * flat.inputGradFrees[stages[i]] -
              weightGrads * flat.weightGradFrees[stages[i]];
    }
    return held > cap;
  };
  for (Task task : allTasks)
    for (int32_t of = 0; of < places; ++of)
      for (int32_t s = 0; s < places; ++s) {
        int32_t k = 0;
        for (int32_t j = 0; j < all; ++j) {
          k = std::max(k, j + 1);
          while (k < all && !isBehind(task, of, j, s, k))
            ++k;
          behind[(size_t(codeOf(task, of)) * places + s) * all + j] = k;
        }
      }
}
