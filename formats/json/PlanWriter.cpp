//===- PlanWriter.cpp - Plans to rondo-plan -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/PlanWriter.h"

#include "llvm/Support/JSON.h"

namespace rondo::json {

void writePlan(llvm::raw_ostream &os, const ChainProblem &problem,
               llvm::StringRef evaluator, const ChainPlannerResult &result) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-plan/1");
    json.attribute("problem", problem.name);
    json.attribute("evaluator", evaluator);
    if (!result.plan) {
      json.attribute("infeasible", describe(*result.fault));
      return;
    }
    json.attributeArray("stages", [&] {
      for (const ChainStage &stage : *result.plan)
        json.object([&] {
          json.attributeArray("layers", [&] {
            json.value(stage.first);
            json.value(stage.end);
          });
          json.attributeArray("ranks", [&] {
            for (int32_t device : stage.devices)
              json.value(device);
          });
        });
    });
    json.attribute("time_ns", result.timeNs);
    json.attribute("lower_bound_ns", result.lowerBoundNs);
    json.attribute("proven_optimal", result.lowerBoundNs == result.timeNs);
    json.attribute("memory_bytes", result.memoryBytes);
  });
}

} // namespace rondo::json
