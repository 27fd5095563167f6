//===- ArenaFigures.cpp - What written programs need ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ArenaFigures.h"

#include "dialect/Bridge.h"
#include "passes/Pipelines.h"
#include "plans/Layers.h"
#include "tools/driver/Report.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::driver;

std::string rondo::driver::titleOf(pipe::ScheduleOp schedule) {
  std::string text = "@" + schedule.getSymName().str();
  if (schedule.getSearchAttr())
    return text + " search";
  mlir::FailureOr<std::string> family = pipe::familyText(schedule);
  if (succeeded(family) && !family->empty())
    text += " " + *family;
  return text;
}

std::string rondo::driver::arenasOfSchedules(mlir::ModuleOp module) {
  llvm::SmallVector<pipe::ScheduleOp> schedules(
      module.getOps<pipe::ScheduleOp>());
  std::string text;
  for (pipe::ScheduleOp schedule : schedules) {
    pipe::PlanOp plan = schedule.lookupPlan();
    std::vector<int64_t> used(plan.lookupCluster().getDevices().size(), 0);
    for (pipe::ProgramOp program : module.getOps<pipe::ProgramOp>())
      if (program.lookupSchedule() == schedule &&
          program.getKind() == pipe::ProgramKind::Pipeline)
        for (pipe::PoolOp pool : program.getPools()) {
          int64_t &end = used[pool.getRank()];
          end = std::max(end, pool.getLayout().getOffset() +
                                  pool.getLayout().getSlotBytes() *
                                      pool.getLayout().getSlots());
        }
    text += "  " + titleOf(schedule) + ": " +
            countOf(plan.getMicrobatches(), "micro-batch");
    if (int64_t samples = plan.getSamplesOfMicrobatch())
      text += " of " + countOf(samples, "sample");
    text += ", needs " + fullestArena(used, pipe::deviceBytes(plan)) + "\n";
  }
  return schedules.size() > 1 ? text : "";
}

std::string rondo::driver::besideArenas(pipe::PlanOp plan) {
  if (plan.getTargetKind() != pipe::Target::Cuda)
    return "";
  const int64_t most = pipe::attentionMemoryBytes(plan);
  return "  beside arenas: " +
         (most > 0 ? "up to " + formatBytes(most) +
                         " a rank for cuDNN's attention (none with "
                         "--attention own), "
                   : std::string()) +
         "about 600 MiB a process for the driver, kernels and cuBLAS, and "
         "NCCL's buffers\n";
}
