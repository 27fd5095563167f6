//===- Diagnose.cpp - Broken rules as located errors ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "schedule/Shortfall.h"
#include "schedule/bounds/FlatProblem.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

/// The op that wrote an action of `order`; its rank, or `op`, where none did.
template <typename Op>
Operation *writerOf(const Schedule &order, ArrayRef<Operation *> opOf, Op op,
                    int32_t rank, int64_t position) {
  if (rank >= 0 && rank < order.numRanks() && position >= 0 &&
      position < order.rank(rank).size())
    return opOf[order.rankBegin(rank) + position];
  for (RankOp rankOp : op.getRanks())
    if (rankOp.getRank() == rank)
      return rankOp;
  return op;
}

/// Where the parties of a violation stand in the IR.
class Places {
public:
  Places(const ExpandedSchedule &expanded, ScheduleOp op)
      : expanded(expanded), op(op), plan(op.lookupPlan()) {}

  Operation *at(int32_t rank, int64_t position) const {
    return writerOf(expanded.schedule, expanded.opOf, op, rank, position);
  }
  /// The first occurrence of an action in a rank's order.
  Operation *find(int32_t rank, Action action) const;
  StageOp stage(Action action) {
    SmallVector<StageOp, 0> stages = plan.getStages();
    return action.stage < stages.size() ? stages[action.stage] : nullptr;
  }
  DeviceOp device(int32_t rank) {
    return plan.lookupCluster().getDevices()[rank];
  }
  Operation *linkOrder(int32_t from, int32_t to);

private:
  const ExpandedSchedule &expanded;
  ScheduleOp op;
  PlanOp plan;
};

Operation *Places::find(int32_t rank, Action action) const {
  if (rank < 0 || rank >= expanded.schedule.numRanks())
    return op;
  ActionRange actions = expanded.schedule.rank(rank);
  for (int64_t i = 0; i < actions.size(); ++i)
    if (actions[i] == action)
      return at(rank, i);
  return at(rank, -1);
}

Operation *Places::linkOrder(int32_t from, int32_t to) {
  for (LinkOrderOp order : op.getLinkOrders())
    if (order.getFrom() == from && order.getTo() == to)
      return order;
  return op;
}

} // namespace

InFlightDiagnostic rondo::pipe::emitViolation(const Violation &violation,
                                              const ExpandedSchedule &expanded,
                                              const Problem &problem,
                                              ScheduleOp op) {
  using What = Violation::What;
  Places places(expanded, op);
  bool isLinkRule = violation.rule == Rule::LinkOrder;
  Operation *where = isLinkRule
                         ? places.linkOrder(violation.rank, violation.otherRank)
                         : places.at(violation.rank, violation.position);
  InFlightDiagnostic error = where->emitError() << describe(violation, problem);
  switch (violation.what) {
  case What::Twice:
  case What::Mixture:
  case What::Order:
  case What::OutOfOrder: {
    Operation *other = places.at(violation.otherRank, violation.otherPosition);
    error.attachNote(other->getLoc())
        << actionName(violation.other) << " stands here";
    break;
  }
  case What::Missing:
  case What::WrongRank:
    if (StageOp stage = places.stage(violation.action))
      error.attachNote(stage.getLoc()) << "stage @" << stage.getSymName()
                                       << " is on rank " << stage.getRank();
    break;
  case What::OverCap: {
    const int64_t least = leastActivationBytes(problem)[violation.rank];
    error.attachNote(places.device(violation.rank).getLoc())
        << "rank " << violation.rank << " is device @"
        << places.device(violation.rank).getSymName()
        << "; one micro-batch at a time holds " << least
        << " bytes of activations there"
        << (least <= violation.allowed || !isSingleEnded(problem)
                ? ", so an order with fewer in flight can fit: see `rondo "
                  "search` and `rondo compare`"
                : ", so no order fits: see `rondo search --placement auto "
                  "--microbatches LIST`, or give it more memory");
    break;
  }
  case What::Cycle:
    for (const Wait &wait : violation.cycle)
      error.attachNote(places.find(wait.rank, wait.at)->getLoc())
          << "rank " << wait.rank << " waits at " << actionName(wait.at)
          << " for " << actionName(wait.needs) << " of rank " << wait.onRank;
    break;
  case What::NotListed:
  case What::NotOnLink:
    error.attachNote(places.find(violation.rank, violation.action)->getLoc())
        << "rank " << violation.rank << " is here";
    break;
  case What::RankCount:
  case What::UnknownTask:
  case What::UnsupportedKind:
  case What::NoSuchLink:
    break;
  }
  return error;
}

InFlightDiagnostic
rondo::pipe::emitProgramViolation(const ProgramViolation &violation,
                                  const ExpandedProgram &expanded,
                                  ProgramOp op) {
  auto at = [&](int32_t rank, int64_t position) {
    return writerOf(expanded.program.order, expanded.opOf, op, rank, position);
  };
  InFlightDiagnostic error = at(violation.rank, violation.position)->emitError()
                             << violation.message;
  if (violation.otherRank >= 0)
    error.attachNote(at(violation.otherRank, violation.otherPosition)->getLoc())
        << "the other party, on rank " << violation.otherRank << ", is here";
  return error;
}
