//===- RankPath.cpp - A micro-batch's way through a rank ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/RankPath.h"
#include "schedule/bounds/HeldBytes.h"

#include <algorithm>

using namespace rondo;

int64_t RankPath::work() const {
  int64_t sum = 0;
  for (const auto &list : {operations, leaves})
    for (const Operation &operation : list)
      sum += operation.ns;
  return sum;
}

double RankPath::area() const {
  double sum = 0;
  for (const auto &list : {operations, leaves})
    for (const Operation &operation : list)
      sum += double(operation.frees) * double(operation.head + operation.ns) -
             double(operation.takes) * double(operation.head);
  return sum;
}

int64_t RankPath::slack(int64_t objective) const {
  const Operation &last = operations.back();
  return objective - last.tail - last.ns - last.head;
}

std::vector<RankPath> rondo::rankPathsOf(const FlatProblem &flat) {
  const int32_t stages = flat.stages;
  auto transfer = [&](Task task, int32_t s) {
    return flat.messages[*flat.outputs(task, s).begin()].transferNs();
  };
  // Earliest starts of F along the chain, and the time after each I.
  const std::vector<int64_t> forwardHead = flat.startsInChain();
  const std::vector<int64_t> inputHead(forwardHead.rbegin(),
                                       forwardHead.rend());
  std::vector<int64_t> tail(stages);
  for (int32_t s = 0; s < stages; ++s) {
    tail[s] = flat.ns[Task::W][s] + flat.endOffset[flat.rankOf[s]];
    if (s > 0)
      tail[s] = std::max(tail[s], transfer(Task::I, s) +
                                      flat.ns[Task::I][s - 1] + tail[s - 1]);
  }
  std::vector<RankPath> paths;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    const std::vector<int32_t> &own = flat.stagesOf[rank];
    RankPath path;
    path.cap = usableCap(flat, rank);
    path.endOffset = flat.endOffset[rank];
    if (own.empty() || path.cap == 0)
      continue;
    for (int32_t s : own) {
      const int64_t rest = inputHead[s] + flat.ns[Task::I][s] + tail[s] -
                           forwardHead[s] - flat.ns[Task::F][s];
      path.operations.push_back(
          {flat.ns[Task::F][s], forwardHead[s], rest, flat.takes[s], 0});
    }
    for (size_t i = own.size(); i-- > 0;) {
      const int32_t s = own[i];
      path.operations.push_back({flat.ns[Task::I][s], inputHead[s], tail[s], 0,
                                 flat.inputGradFrees[s]});
      path.leaves.push_back({flat.ns[Task::W][s],
                             inputHead[s] + flat.ns[Task::I][s], path.endOffset,
                             0, flat.weightGradFrees[s]});
    }
    paths.push_back(std::move(path));
  }
  return paths;
}
