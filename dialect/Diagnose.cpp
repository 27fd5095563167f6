//===- Diagnose.cpp - Broken rules as located errors ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "schedule/bounds/Shortfall.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {

/// The op that wrote an action of `order`; if there is none, its rank, or `op`.
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

/// Finds the parties of a fault in the IR.
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
    const Replicas replicas = plan.getReplicas();
    return action.subject < uint64_t(replicas.size())
               ? plan.getStages()[replicas[action.subject].stage]
               : nullptr;
  }
  DeviceOp device(int32_t rank) {
    return plan.lookupCluster().getDevices()[rank];
  }
  Operation *linkOrder(int32_t from, int32_t to);
  /// The op of a copy order that a fault is at; its number is the first part.
  Operation *copyOrder(const Fault &fault);

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

Operation *Places::copyOrder(const Fault &fault) {
  for (CopyOrderOp order : op.getCopyOrders()) {
    const auto link = static_cast<int32_t>(order.getLink());
    if (std::get<int64_t>(fault.parts.front()) != link)
      continue;
    const auto ops = expanded.opOfCopy.find(link);
    const bool isAtOp = fault.rank < 0 && fault.position >= 0 &&
                        ops != expanded.opOfCopy.end() &&
                        fault.position < int64_t(ops->second.size());
    return isAtOp ? ops->second[fault.position] : order.getOperation();
  }
  return op;
}

} // namespace

/// Bytes of the largest chunk of a rank in addition to its shards, while its
/// weights are gathered and its gradients are not yet reduced; 0: none is
/// sharded.
static int64_t gatheredBytes(const Problem &problem, int32_t rank) {
  int64_t most = 0;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (problem.rankOf(replica) == rank &&
        problem.replicas[replica].isSharded())
      most = std::max(
          most, problem.cost(replica, ActionKind::Unshard).acquireBytes +
                    problem.cost(replica, ActionKind::ReduceGrad).releaseBytes);
  return most;
}

InFlightDiagnostic rondo::pipe::emitFault(const Fault &fault,
                                          const ExpandedSchedule &expanded,
                                          const Problem &problem,
                                          ScheduleOp op) {
  Places places(expanded, op);
  bool isLinkRule = fault.rule == Rule::LinkOrder;
  Operation *where = isLinkRule ? places.linkOrder(fault.rank, fault.otherRank)
                     : fault.rule == Rule::CopyOrder
                         ? places.copyOrder(fault)
                         : places.at(fault.rank, fault.position);
  InFlightDiagnostic error = where->emitError() << describe(fault, problem);
  switch (fault.kind) {
  case FaultKind::Twice:
  case FaultKind::Mixture:
  case FaultKind::Order:
  case FaultKind::BeforeSum:
  case FaultKind::OutOfOrder:
  case FaultKind::GatheredAlready:
  case FaultKind::StepBeforeReduce:
  case FaultKind::UnitsDiffer:
  case FaultKind::GroupDiffers: {
    Operation *other = places.at(fault.otherRank, fault.otherPosition);
    error.attachNote(other->getLoc())
        << programActionName(fault.other, problem) << " stands here";
    if (fault.kind == FaultKind::BeforeSum &&
        fault.found == static_cast<int64_t>(CollectiveKind::GradientNorm))
      error.attachNote(op.getLoc())
          << "a schedule with `norm(none)` after the plan name computes no "
             "norm; it trains with --clip 0";
    break;
  }
  case FaultKind::NotSharded:
    if (StageOp stage = places.stage(fault.action))
      error.attachNote(stage.getLoc())
          << "stage @" << stage.getSymName() << " is not `sharded`";
    break;
  case FaultKind::MissingStep:
    error.attachNote(places.at(fault.otherRank, fault.otherPosition)->getLoc())
        << programActionName(fault.other, problem) << " stands here";
    [[fallthrough]];
  case FaultKind::MissingTask:
  case FaultKind::MissingBackward:
  case FaultKind::WrongRank:
    if (StageOp stage = places.stage(fault.action))
      error.attachNote(stage.getLoc()) << "stage @" << stage.getSymName()
                                       << " is on " << stage.describeRanks();
    if (fault.kind != FaultKind::WrongRank &&
        llvm::none_of(op.getRanks(), [&](RankOp rank) {
          return static_cast<int64_t>(rank.getRank()) == fault.rank;
        }))
      error.attachNote(op.getLoc())
          << "schedule @" << op.getSymName() << " has no pipe.rank "
          << fault.rank << "; write the order of that rank";
    break;
  case FaultKind::OverCap: {
    if (const int64_t chunk = gatheredBytes(problem, fault.rank)) {
      error.attachNote(places.device(fault.rank).getLoc())
          << "rank " << fault.rank << " is device @"
          << places.device(fault.rank).getSymName()
          << "; a chunk that is gathered, with its gradients, takes " << chunk
          << " bytes there in addition to activations";
      break;
    }
    const int64_t least = leastActivationBytes(problem)[fault.rank];
    const std::string options = optionsForOtherPlans(op.lookupPlan());
    const std::string whereNoneFits =
        options.empty() ? ", so no order fits: give it more memory"
                        : ", so no order fits: see `rondo search" + options +
                              "`, or give it more memory";
    error.attachNote(places.device(fault.rank).getLoc())
        << "rank " << fault.rank << " is device @"
        << places.device(fault.rank).getSymName()
        << "; one micro-batch at a time holds " << least
        << " bytes of activations there"
        << (neededActivationBytes(problem)[fault.rank] <= fault.allowed
                ? std::string(", so an order with fewer in flight can fit: see "
                              "`rondo search` and `rondo compare`")
                : whereNoneFits);
    PlanOp plan = op.lookupPlan();
    if (TokensAttr tokens = plan.getTokensAttr())
      error.attachNote(plan.getLoc())
          << "plan @" << plan.getSymName()
          << " has memory for the activations of " << tokens.getInFlight()
          << " tokens in each stage: raise in_flight, or search for an order "
             "with fewer in flight";
    break;
  }
  case FaultKind::Cycle:
    for (const Wait &wait : fault.cycle)
      error.attachNote(places.find(wait.rank, wait.at)->getLoc())
          << "rank " << wait.rank << " waits at "
          << actionName(wait.at, problem) << " for "
          << actionName(wait.needs, problem) << " of rank " << wait.onRank;
    break;
  case FaultKind::NotListed:
  case FaultKind::NotOnLink:
    error.attachNote(places.find(fault.rank, fault.action)->getLoc())
        << "rank " << fault.rank << " is here";
    break;
  default: // no second place to show
    break;
  }
  return error;
}

/// The number of the pool whose own figures are wrong, if that is the fault.
static std::optional<int64_t> poolOf(const Fault &fault) {
  switch (fault.kind) {
  case FaultKind::PoolOnNoRank:
  case FaultKind::PoolBelowZero:
  case FaultKind::PoolOfTooManySlots:
  case FaultKind::PoolNotAligned:
  case FaultKind::PoolOutsideArena:
  case FaultKind::PoolsOverlap:
    return std::get<int64_t>(fault.parts[0]);
  case FaultKind::StagingElsewhere:
    return std::get<int64_t>(fault.parts[1]);
  default:
    return std::nullopt;
  }
}

InFlightDiagnostic rondo::pipe::emitFault(const Fault &fault,
                                          const Program &program,
                                          const Problem &problem,
                                          ProgramOp op) {
  const std::vector<Operation *> writers = writersOf(op, problem);
  auto at = [&](int32_t rank, int64_t position) {
    return writerOf(program.order, writers, op, rank, position);
  };
  ProgramNames names;
  for (CollectiveOp collective : op.getCollectives())
    names.collectives.push_back(collective.getSymName().str());
  for (PoolOp pool : op.getPools())
    names.pools.push_back(pool.getSymName().str());
  const std::optional<int64_t> pool = poolOf(fault);
  const Location here = pool && *pool < int64_t(names.pools.size())
                            ? op.getPools()[*pool].getLoc()
                            : at(fault.rank, fault.position)->getLoc();
  InFlightDiagnostic error = mlir::emitError(here)
                             << describe(fault, problem, names);
  if (fault.kind == FaultKind::ResidencyCycle) {
    const Schedule &order = program.order;
    for (const Wait &wait : fault.cycle) {
      const ActionRange actions = order.rank(wait.onRank);
      const int64_t position =
          std::find(actions.begin(), actions.end(), wait.needs) -
          actions.begin();
      error.attachNote(at(wait.onRank, position)->getLoc())
          << programActionName(wait.needs, problem, names) << " of rank "
          << wait.onRank << ", for which "
          << programActionName(wait.at, problem, names) << " of rank "
          << wait.rank << " waits, is here";
    }
    return error;
  }
  if (fault.otherRank < 0)
    return error;
  // A missing action has no place; both are then the program's.
  const Location there = at(fault.otherRank, fault.otherPosition)->getLoc();
  if (there != here)
    error.attachNote(there) << "the conflicting operation, on rank "
                            << fault.otherRank << ", is here";
  return error;
}
