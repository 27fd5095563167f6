//===- PipeMare.cpp - 1F1B without flush or stashed weights -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Yang et al., "PipeMare", MLSys 2021, arXiv 1910.05124. The order is
// PipeDream's; forwards and backwards read the newest weights, and the
// backward moves them back by the running mean of their changes.
//
// With spatial=1, the order is that of the paper's model: a stage runs an F and
// a B in each slot, both with the weights at the beginning of the slot. Stage s
// (from 0) runs F of micro-batch m in slot m + s and B in slot m + 2S - 1 - s.
// With N micro-batches an iteration, its forward is on average
// (2(S - 1 - s) + 1) / N updates late, and it holds 2(S - s) - 1 micro-batches.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generatePipeMare(const Problem &problem,
                                     const FamilyArguments &arguments) {
  if (arguments.at("spatial") == 0)
    return oneForwardOneBackward("pipemare", problem);
  const int64_t last = problem.microbatches;
  return orderStages(
      "pipemare", problem, 2, [&](Schedule &schedule, int32_t s) {
        // Slot 0 is that of the stage's first F.
        const int64_t between = 2 * (int64_t(problem.numStages()) - s) - 1;
        for (int64_t slot = 0; slot < last + between; ++slot) {
          if (slot < last)
            schedule.append({ActionKind::Forward, s, slot});
          if (slot >= between)
            appendBackward(schedule, problem, s, slot - between);
        }
      });
}

Family rondo::pipeMare() {
  Family family;
  family.name = "pipemare";
  family.summary = "1F1B without flush, with the newest weights everywhere";
  family.source = "Yang et al., arXiv 1910.05124";
  FamilyParameter spatial = {
      "spatial", 0, 0,
      "1: the order of a stage that runs an F and a B at the same time"};
  spatial.maximum = 1;
  family.parameters = {spatial};
  family.generate = generatePipeMare;
  family.policy = "pipemare";
  return family;
}
