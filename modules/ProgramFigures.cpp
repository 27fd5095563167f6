//===- ProgramFigures.cpp - The memory of programs, in words --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "modules/ProgramFigures.h"

#include "dialect/Bridge.h"
#include "kinds/Counts.h"
#include "passes/Pipelines.h"
#include "plans/Layers.h"
#include "reports/Figures.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::pipe;

std::string rondo::pipe::titleOf(ScheduleOp schedule) {
  std::string text = "@" + schedule.getSymName().str();
  if (schedule.getSearchAttr())
    return text + " search";
  mlir::FailureOr<std::string> family = familyText(schedule);
  if (succeeded(family) && !family->empty())
    text += " " + *family;
  return text;
}

std::string rondo::pipe::arenasOfSchedules(mlir::ModuleOp module) {
  llvm::SmallVector<ScheduleOp> schedules(module.getOps<ScheduleOp>());
  std::string text;
  for (ScheduleOp schedule : schedules) {
    PlanOp plan = schedule.lookupPlan();
    std::vector<int64_t> used(plan.lookupCluster().getDevices().size(), 0);
    for (ProgramOp program : module.getOps<ProgramOp>())
      if (program.lookupSchedule() == schedule &&
          program.getKind() == ProgramKind::Pipeline)
        for (PoolOp pool : program.getPools()) {
          if (pool.getOnHost())
            continue;
          int64_t &end = used[pool.getRank()];
          end = std::max(end, pool.getLayout().getOffset() +
                                  pool.getLayout().getSlotBytes() *
                                      pool.getLayout().getSlots());
        }
    text += "  " + titleOf(schedule) + ": " +
            countOf(plan.getMicrobatches(), "micro-batch");
    if (int64_t samples = plan.getSamplesOfMicrobatch())
      text += " of " + countOf(samples, "sample");
    text += ", needs " + fullestArena(used, deviceBytes(plan)) + "\n";
  }
  return schedules.size() > 1 ? text : "";
}

std::string rondo::pipe::besideArenas(PlanOp plan) {
  if (plan.getTargetKind() != Target::Cuda)
    return "";
  const int64_t most = attentionMemoryBytes(plan);
  return "  outside arenas: " +
         (most > 0 ? "up to " + formatBytes(most) +
                         " a rank for cuDNN's attention (none with "
                         "--attention own), "
                   : std::string()) +
         "about 600 MiB a process for the driver, kernels and cuBLAS, and "
         "NCCL's buffers\n";
}
