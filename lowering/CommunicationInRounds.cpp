//===- CommunicationInRounds.cpp - Messages as PyTorch places them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like the lowering of torch.distributed.pipelining, which adds communication
// to a schedule of computations. For its cost on looped placements see
// docs/search.md.
//
//===----------------------------------------------------------------------===//

#include "lowering/Communication.h"
#include "schedule/EdgeTable.h"
#include "schedule/Waits.h"

using namespace rondo;

namespace {

class Rounds {
public:
  Rounds(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), edges(problem),
        next(schedule.numRanks(), 0), taken(schedule.numRanks()),
        done(problem.nothingDoneYet()) {}

  Program run() {
    // A round in which no rank moves would be a deadlock.
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (int32_t r = 0; r < schedule.numRanks(); ++r)
        hasMoved |= step(r);
    }
    Program program;
    for (const std::vector<Action> &actions : taken) {
      for (Action action : actions)
        program.order.append(action);
      program.order.endRank();
    }
    return program;
  }

private:
  Done &doneOf(int32_t home, int64_t index) {
    return done[int64_t(home) * problem.microbatches + index];
  }

  bool step(int32_t rank) {
    ActionRange tasks = schedule.rank(rank);
    if (next[rank] == tasks.size())
      return false;
    Action task = tasks[next[rank]];
    // What a task of another rank makes is received as soon as it is done.
    for (int32_t e : edges.inputs(task.subject, task.kind()))
      if (!(doneOf(problem.edges[e].from, task.index) &
            traitsOf(problem.edges[e].message()).made))
        return false;
    ++next[rank];
    taken[rank].push_back(task);
    doneOf(task.subject, task.index) |= task.traits().makes;
    for (int32_t e : edges.outputs(task.subject, task.kind())) {
      int32_t to = problem.rankOf(problem.edges[e].to);
      if (to == rank || !problem.carries(problem.edges[e], task.index))
        continue;
      taken[rank].push_back(Action(ActionKind::Send, e, task.index));
      taken[to].push_back(Action(ActionKind::Recv, e, task.index));
    }
    return true;
  }

  const Problem &problem;
  const Schedule &schedule;
  EdgeTable edges;
  std::vector<int64_t> next;
  std::vector<std::vector<Action>> taken;
  std::vector<Done> done;
};

} // namespace

Program rondo::insertCommunicationInRounds(const Problem &problem,
                                           const Schedule &schedule) {
  return Rounds(problem, schedule).run();
}
