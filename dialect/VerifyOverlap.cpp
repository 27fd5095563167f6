//===- VerifyOverlap.cpp - Local rules of iterations that overlap ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/OverlapRules.h"

#include "schedule/Family.h"

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

LogicalResult rondo::pipe::verifyOverlap(ScheduleOp op) {
  const bool overlaps = op.overlaps();
  if (!overlaps && op.getClip() == Clip::Global)
    return op.emitError()
           << "clip(global) is for iterations that overlap; others clip by the "
              "norm of all gradients unless they say norm(none)";
  if (overlaps && op.getNorm() == Norm::None && op.getClip() == Clip::Global)
    return op.emitError() << "norm(none) leaves out the norm that clip(global) "
                             "asks for; leave out one of them";
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
  RepeatOp first;
  for (RankOp rank : op.getRanks())
    for (RepeatOp repeat : rank.getBody().getOps<RepeatOp>()) {
      if (!overlaps)
        return repeat.emitError()
               << "pipe.repeat is for iterations that overlap; add "
                  "versions<...> to schedule @"
               << op.getSymName();
      if (!first)
        first = repeat;
      if (repeat.getStep() != first.getStep())
        return repeat.emitError()
                   .append("each repetition adds ", repeat.getStep(),
                           " iterations here, but ", first.getStep(),
                           " on another rank")
                   .attachNote(first.getLoc())
               << "this is the other";
    }
  return success();
}
