//===- VerifyOverlap.cpp - Local rules of iterations that overlap ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/OverlapRules.h"

#include "kinds/Counts.h"
#include "schedule/families/Family.h"

using namespace mlir;
using namespace rondo::pipe;

bool ScheduleOp::overlaps() {
  if (getVersions())
    return true;
  auto family = getFamily();
  const rondo::Family *known =
      family ? rondo::findFamily(family->getName().str()) : nullptr;
  return known && known->policy;
}

int64_t ScheduleOp::getIterationsEach() {
  for (RankOp rank : getRanks())
    for (RepeatOp repeat : rank.getBody().getOps<RepeatOp>())
      return repeat.getStep();
  return 1;
}

/// Repetitions of all ranks add the same iterations.
static LogicalResult verifySteps(ArrayRef<RankOp> ranks) {
  RepeatOp first;
  for (RankOp rank : ranks)
    for (RepeatOp repeat : rank.getBody().getOps<RepeatOp>()) {
      if (!first)
        first = repeat;
      if (repeat.getStep() != first.getStep())
        return repeat.emitError()
                   .append("each repetition adds ",
                           countOf(repeat.getStep(), "iteration"),
                           " here, but ", first.getStep(), " on rank ",
                           first->getParentOfType<RankOp>().getRank(),
                           "; all ranks repeat the same iterations")
                   .attachNote(first.getLoc())
               << "this is the other";
    }
  return success();
}

LogicalResult rondo::pipe::verifyOverlap(ProgramOp op) {
  const auto ranks = op.getRanks();
  if (overlaps(op))
    return verifySteps(ranks);
  for (RankOp rank : ranks)
    for (RepeatOp repeat : rank.getBody().getOps<RepeatOp>())
      return repeat.emitError()
             << "pipe.repeat is for iterations that overlap, but this program "
                "runs one at a time: write what an iteration runs without it";
  return success();
}

LogicalResult rondo::pipe::verifyOverlap(ScheduleOp op) {
  const bool overlaps = op.overlaps();
  if (!overlaps && op.getClip() == Clip::Global)
    return op.emitError()
           << "clip(global) is for iterations that overlap; others clip by the "
              "norm of all gradients unless they say norm(none)";
  if (overlaps && op.getNorm() == Norm::None && op.getClip() == Clip::Global)
    return op.emitError() << "norm(none) leaves out the norm that clip(global) "
                             "asks for; leave out one of them";
  if (overlaps && op.getNorm() == Norm::None)
    return op.emitError()
           << "norm(none) leaves out the norm of all gradients, but iterations "
              "of @"
           << op.getSymName()
           << " overlap, so each stage clips by the norm of its own gradients; "
              "leave out norm(none), and run the program with --clip 0 to clip "
              "nothing";
  if (overlaps && op.getSearch())
    return op.emitError() << "a search orders one iteration; leave out the "
                             "versions, or write a family or a body";
  if (overlaps && !op.getLinkOrders().empty())
    return op.getLinkOrders().front().emitError()
           << "where iterations overlap, links carry messages in the order in "
              "which they become ready";
  if (!overlaps && op.getClaims())
    return op.emitError() << "claims are of versions and delays, which only "
                             "iterations that overlap have";
  if (const std::optional<ClaimsAttr> claims = op.getClaims();
      claims && claims->getCopies().empty() &&
      claims->getForwardDelay().empty() && claims->getBackwardDelay().empty() &&
      claims->getRecomputeDelay().empty() && !claims->getNormDelay())
    return op.emitError()
           << "claims<> claims nothing: name copies, forward_delay, "
              "backward_delay, recompute_delay or norm_delay, or leave it out";
  for (RankOp rank : op.getRanks())
    for (RepeatOp repeat : rank.getBody().getOps<RepeatOp>())
      if (!overlaps)
        return repeat.emitError()
               << "pipe.repeat is for iterations that overlap; add "
                  "versions<...> to schedule @"
               << op.getSymName();
  if (!overlaps)
    return success();
  if (failed(verifySteps(op.getRanks())))
    return failure();
  for (RankOp rank : op.getRanks())
    if (!rank.getBody().getOps().empty() &&
        rank.getBody().getOps<RepeatOp>().empty())
      return rank.emitError()
             << "rank " << rank.getRank()
             << " has no pipe.repeat, so its order ends, but iterations of @"
             << op.getSymName()
             << " overlap, and a run has any number of them: put what each "
                "iteration adds into a pipe.repeat at the end of the rank, or "
                "leave out versions<...>";
  return success();
}
