//===- Moves.cpp - L5 of gathers and reductions -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// S9 has checked the order of the schedule. A program also awaits the
// collectives that it issues: a gather before its weights are read or freed, a
// reduction before the replica's next one and before its result is read.
//
//===----------------------------------------------------------------------===//

#include "schedule/rules/Moves.h"
#include "schedule/program/GroupCollectives.h"

using namespace rondo;

namespace {

using Found = std::optional<Fault>;
constexpr Rule rule = Rule::Tasks;

class Walk {
public:
  Walk(const Problem &problem, const Program &program, int32_t rank)
      : problem(problem), program(program), groups(problem, program),
        rank(rank), order(program.order.rank(rank)),
        underWay(program.collectives.size(), -1),
        readAt(problem.numReplicas(), -1) {}

  Found run() {
    for (position = 0; position < order.size(); ++position)
      if (Found wrong = look(order[position]))
        return wrong;
    for (int64_t issued : underWay)
      if (issued >= 0) {
        position = issued;
        return makeFaultAt<FaultKind::Missing>(rule, rank, order.size(),
                                               awaitOf(order[issued]));
      }
    return std::nullopt;
  }

private:
  /// The await of an unshard or reduce_grad.
  Action awaitOf(Action issued) const {
    return Action(ActionKind::Await, groups.numberOf(issued), issued.index);
  }
  /// A fault of the action at position `one`, which also cites the one at
  /// `other`.
  template <FaultKind kind> Fault faultOf(int64_t one, int64_t other) const {
    return makeFaultAt<kind>(rule, rank, one, order[one])
        .withOther(rank, other, order[other]);
  }
  /// Checks that the last issue of a collective has been awaited. -1: no
  /// collective.
  Found checkEnded(int32_t collective) const {
    return collective >= 0 && underWay[collective] >= 0
               ? Found(faultOf<FaultKind::NotAwaited>(position,
                                                      underWay[collective]))
               : std::nullopt;
  }

  Found look(Action action) {
    const auto subject = static_cast<int32_t>(action.subject);
    switch (action.kind()) {
    case ActionKind::Unshard:
    case ActionKind::ReduceGrad: {
      if (action.kind() == ActionKind::ReduceGrad && readAt[subject] >= 0)
        return faultOf<FaultKind::BeforeResult>(readAt[subject], position);
      if (problem.isGroupLocal(subject))
        return std::nullopt;
      const auto collective = static_cast<int32_t>(groups.numberOf(action));
      if (Found wrong = checkEnded(collective))
        return wrong;
      underWay[collective] = position;
      return std::nullopt;
    }
    case ActionKind::Await: {
      if (!movesState(program.collectives[subject].kind))
        return std::nullopt;
      int64_t &issued = underWay[subject];
      if (issued < 0 || order[issued].index != action.index)
        return makeFaultAt<FaultKind::AwaitsNothing>(rule, rank, position,
                                                     action);
      issued = -1;
      return std::nullopt;
    }
    case ActionKind::AllReduce:
      for (int32_t replica : program.collectives[subject].replicas) {
        if (problem.rankOf(replica) != rank)
          continue;
        if (Found wrong = checkEnded(groups.scatterOf(replica)))
          return wrong;
        readAt[replica] = position;
      }
      return std::nullopt;
    case ActionKind::Step:
      return checkEnded(groups.scatterOf(subject));
    default:
      // Before a task or a reshard, the gather must have been awaited.
      return action.traits().subject == Subject::Replica
                 ? checkEnded(groups.gatherOf(subject))
                 : std::nullopt;
    }
  }

  const Problem &problem;
  const Program &program;
  const GroupCollectives groups;
  const int32_t rank;
  const ActionRange order;
  int64_t position = 0;
  /// [collective]: position of its last issue without an await; -1: none.
  std::vector<int64_t> underWay;
  /// [replica]: position at which a collective has read its gradients; -1:
  /// none.
  std::vector<int64_t> readAt;
};

} // namespace

std::optional<Fault> rondo::checkMoves(const Problem &problem,
                                       const Program &program, int32_t rank) {
  return problem.replicas.areSharded() ? Walk(problem, program, rank).run()
                                       : std::nullopt;
}
