//===- RankMoves.cpp - Awaits of sharded state in a rank's order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/RankMoves.h"

using namespace rondo;

void RankMoves::await(std::vector<Issued> &issued, size_t which,
                      Schedule &order) {
  order.append(Action(ActionKind::Await, issued[which].collective,
                      issued[which].action.index));
  issued.erase(issued.begin() + which);
}

void RankMoves::awaitOf(std::vector<Issued> &issued, int32_t collective,
                        Schedule &order) {
  for (size_t i = 0; i < issued.size(); ++i)
    if (issued[i].collective == collective)
      return await(issued, i, order);
}

void RankMoves::awaitFor(Action action, int64_t position, Schedule &order) {
  const auto subject = static_cast<int32_t>(action.subject);
  if (!isSharded || action.traits().subject != Subject::Replica)
    return;
  const bool hasShards =
      problem.replicas[subject].isSharded() && !problem.isGroupLocal(subject);
  if (action.isTask()) {
    if (hasShards)
      awaitOf(gathers, groups.gatherOf(subject), order);
    const int64_t startNs = simulation.startNs[begin + position];
    for (size_t i = 0; i < reductions.size();)
      if (reductions[i].endNs <= startNs)
        await(reductions, i, order);
      else
        ++i;
    return;
  }
  // A collective before the step may read the gradients of all replicas.
  if (action.kind() == ActionKind::Step)
    return awaitReductions(order);
  if (!hasShards)
    return;
  switch (action.kind()) {
  case ActionKind::Reshard:
    return awaitOf(gathers, groups.gatherOf(subject), order);
  case ActionKind::Unshard:
    gathers.push_back({groups.gatherOf(subject), action, 0});
    return;
  case ActionKind::ReduceGrad:
    awaitOf(reductions, groups.scatterOf(subject), order);
    reductions.push_back({groups.scatterOf(subject), action,
                          simulation.endNs[begin + position]});
    return;
  default:
    return;
  }
}

void RankMoves::awaitReductions(Schedule &order) {
  while (!reductions.empty())
    await(reductions, 0, order);
}
