//===- CommunicationInRounds.cpp - Messages where PyTorch places them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same algorithm as the lowering of torch.distributed.pipelining, which
// adds communication to a schedule of computations. docs/search.md gives its
// cost on looped placements.
//
//===----------------------------------------------------------------------===//

#include "lowering/Communication.h"
#include "schedule/model/EdgeTable.h"
#include "schedule/model/Waits.h"

using namespace rondo;

namespace {

class Rounds {
public:
  Rounds(const Problem &problem, const Schedule &schedule,
         const std::vector<bool> &joined)
      : problem(problem), schedule(schedule), joined(joined), edges(problem),
        next(schedule.numRanks(), 0), taken(schedule.numRanks()),
        done(problem.nothingDoneYet()) {}

  Program run() {
    // Stops after a round in which no rank moves; before the end this is a
    // deadlock.
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (int32_t r = 0; r < schedule.numRanks(); ++r)
        hasMoved |= step(r);
    }
    Program program;
    program.order = Schedule(taken);
    return program;
  }

private:
  Done &doneOf(int32_t replica, int64_t index) {
    return done[int64_t(replica) * problem.microbatches + index];
  }

  /// The output of a task on another rank counts as received once the task is
  /// done.
  bool hasInputs(Action task) {
    for (int32_t e : edges.inputs(task.subject, task.kind()))
      if (!(doneOf(problem.edges[e].from, task.index) &
            traitsOf(problem.edges[e].message()).made))
        return false;
    return true;
  }

  /// Takes the next action of a rank together with the actions joined to it.
  bool step(int32_t rank) {
    const ActionRange order = schedule.rank(rank);
    const int64_t first = next[rank];
    if (first == order.size())
      return false;
    int64_t last = first;
    while (!joined.empty() && joined[schedule.rankBegin(rank) + last])
      ++last;
    for (int64_t i = first; i <= last; ++i)
      if (!hasInputs(order[i]))
        return false;
    next[rank] = last + 1;
    for (int64_t i = first; i <= last; ++i) {
      taken[rank].push_back(order[i]);
      doneOf(order[i].subject, order[i].index) |= order[i].traits().makes;
    }
    for (int64_t i = first; i <= last; ++i)
      exchange(rank, order[i]);
    return true;
  }

  /// Appends the sends of a task and their receives.
  void exchange(int32_t rank, Action task) {
    for (int32_t e : edges.outputs(task.subject, task.kind())) {
      int32_t to = problem.rankOf(problem.edges[e].to);
      if (to == rank || !problem.carries(problem.edges[e], task.index))
        continue;
      taken[rank].push_back(Action(ActionKind::Send, e, task.index));
      taken[to].push_back(Action(ActionKind::Recv, e, task.index));
    }
  }

  const Problem &problem;
  const Schedule &schedule;
  const std::vector<bool> &joined;
  EdgeTable edges;
  std::vector<int64_t> next;
  std::vector<std::vector<Action>> taken;
  std::vector<Done> done;
};

} // namespace

Program rondo::insertCommunicationInRounds(const Problem &problem,
                                           const Schedule &schedule,
                                           const std::vector<bool> &joined) {
  return Rounds(problem, schedule, joined).run();
}
