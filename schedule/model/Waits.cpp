//===- Waits.cpp - Waits between ranks --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/Waits.h"

#include <algorithm>

using namespace rondo;

int64_t rondo::findTask(ActionRange order, Action action) {
  // A B includes the I of its micro-batches.
  const bool mayBeFused = action.kind() == ActionKind::InputGrad ||
                          action.kind() == ActionKind::WeightGrad;
  auto isFused = [&](Action each) {
    return mayBeFused && each.kind() == ActionKind::Backward &&
           each.subject == action.subject && each.index <= action.index &&
           action.index < each.index + each.count &&
           (each.count > 1 || action.kind() == ActionKind::InputGrad);
  };
  for (int64_t i = 0; i < order.size(); ++i)
    if (order[i] == action || isFused(order[i]))
      return i;
  return -1;
}

Action rondo::asListed(ActionRange order, Action action) {
  int64_t position = findTask(order, action);
  return position < 0 ? action : order[position];
}

int64_t rondo::firstBlocking(Action action, const Done *done,
                             int64_t microbatches) {
  const Done needed = action.traits().needsOfAll;
  if (needed == nothingDone)
    return action.index;
  const Done *begin = done + int64_t(action.index) * microbatches,
             *end = begin + microbatches;
  const Done *first = std::find_if(
      begin, end, [&](Done each) { return (each & needed) != needed; });
  return first == end ? -1 : first - done;
}

std::vector<int32_t> rondo::walkToCircle(const std::vector<int32_t> &next,
                                         int32_t start) {
  std::vector<int32_t> walk;
  std::vector<int32_t> placeInWalk(next.size(), -1);
  int32_t rank = start;
  while (next[rank] >= 0 && placeInWalk[rank] < 0) {
    placeInWalk[rank] = static_cast<int32_t>(walk.size());
    walk.push_back(rank);
    rank = next[rank];
  }
  if (placeInWalk[rank] > 0)
    walk.erase(walk.begin(), walk.begin() + placeInWalk[rank]);
  return walk;
}
